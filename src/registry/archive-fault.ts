/** What is wrong with an archive, told apart from what is wrong with the host. */

import { isSystemError } from "../os-error.ts";

/** Why an archive yields no manifest: one phrase, which quotes nothing of its contents. */
export class ArchiveFault extends Error {}

/** What the ZIP reader throws is a fault of the archive; its own words may quote a name, so they are left out. */
export async function broken<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ArchiveFault || isSystemError(error)) throw error;
    throw new ArchiveFault("it is not a whole ZIP archive");
  }
}
