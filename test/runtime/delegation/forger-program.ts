/** Another process on loopback that posts completions: reads one JSON object on its input, writes the answers. */

export interface Forgery {
  readonly url: string;
  /** The headers of each post. */
  readonly posts: readonly Readonly<Record<string, string>>[];
}

const { url, posts }: Forgery = await Bun.stdin.json();
const body = JSON.stringify({ jsonrpc: "2.0", id: "forged", method: "SendMessage", params: {} });
const answers: unknown[] = [];
/** So many at a time. */
const AT_ONCE = 20;
for (let at = 0; at < posts.length; at += AT_ONCE) {
  const sent = posts.slice(at, at + AT_ONCE).map(async (headers) => {
    const response = await fetch(url, { method: "POST", headers, body });
    return await response.json();
  });
  answers.push(...(await Promise.all(sent)));
}
process.stdout.write(JSON.stringify(answers));
