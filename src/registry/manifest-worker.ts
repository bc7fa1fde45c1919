/** The thread that `manifest-reader.ts` starts: one text in, one reading out. */

import { readManifest } from "./manifest.ts";

declare const self: Worker;

self.onmessage = (event: MessageEvent<string>) => {
  self.postMessage(readManifest(event.data));
};
