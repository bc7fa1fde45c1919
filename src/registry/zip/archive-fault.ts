/** What is wrong with an archive, told apart from what is wrong with the host. */

/** Why an archive yields no manifest: one phrase, which quotes nothing of its contents. */
export class ArchiveFault extends Error {}
