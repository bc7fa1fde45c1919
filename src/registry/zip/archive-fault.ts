/** What is wrong with an archive, as opposed to a failure of the host. */

/** Why no manifest can be read from an archive: one phrase, which quotes nothing of its contents. */
export class ArchiveFault extends Error {}
