/**
 * Reads manifests without holding up the requests of others: a small one here, a large one on a thread of its own.
 *
 * The largest manifest that is allowed, written to be slow, takes a YAML reader a second and more.
 */

import type { ManifestReading } from "./manifest.ts";

/** Written to be slow, a text of this length took some tens of milliseconds on a loaded machine. */
const LARGEST_READ_HERE = 2 * 1024;

/** The thread's last reading: large manifests are read one after another, so that they never take more than one core. */
let last: Promise<unknown> = Promise.resolve();

export async function readManifestAside(source: string): Promise<ManifestReading> {
  if (source.length <= LARGEST_READ_HERE) {
    // Loaded by the first reading: a start has no use for a YAML reader.
    const { readManifest } = await import("./manifest.ts");
    return readManifest(source);
  }
  const reading = last.then(() => readOnThread(source));
  last = reading;
  return reading;
}

function readOnThread(source: string): Promise<ManifestReading> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL("./manifest-worker.ts", import.meta.url).href);
    const settle = (reading: ManifestReading) => {
      worker.terminate();
      resolve(reading);
    };
    worker.onmessage = (event: MessageEvent<ManifestReading>) => settle(event.data);
    worker.onerror = () => settle({ ok: false, fault: "the manifest could not be read" });
    worker.postMessage(source);
  });
}
