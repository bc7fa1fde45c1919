/** The fence around text that a model must not take for its runtime's own words. */

const NEUTRALISED = "!MURMUR-NEUTRALISED!";

/** `content` inside a fence that names its source. Nothing in it can close the fence or open another. */
export function fenceUntrusted(source: string, content: string): string {
  const name = source.replaceAll(">", "_").replace(/[\r\n]/g, " ");
  return `<untrusted-content source=${name}>\n${neutralise(content)}\n</untrusted-content>`;
}

/** Breaks every fence marker, opening or closing, in any case. Removes nothing, and a second pass changes nothing. */
export function neutralise(content: string): string {
  return content.replace(/<(?=\/?untrusted-content)/gi, `<${NEUTRALISED}`);
}
