/** What a task has begun but does not watch yet: tool calls that are launching a child, and a plan's steps. */

export interface UnderWay {
  /** Runs the work. Each id that the work reports as started is in flight until the work settles. */
  run<T>(work: (onStarted: (id: string) => void) => Promise<T>): Promise<T>;
  ids(): string[];
  any(): boolean;
  /** Settles once everything that is under way now has settled. Never rejects. */
  settled(): Promise<void>;
}

export function createUnderWay(): UnderWay {
  const works = new Set<Promise<void>>();
  const started = new Set<string>();
  return {
    async run(work) {
      const settled = Promise.withResolvers<void>();
      const ids: string[] = [];
      works.add(settled.promise);
      try {
        return await work((id) => {
          ids.push(id);
          started.add(id);
        });
      } finally {
        for (const id of ids) started.delete(id);
        works.delete(settled.promise);
        settled.resolve();
      }
    },
    ids: () => [...started],
    any: () => works.size > 0,
    settled: async () => void (await Promise.all(works)),
  };
}
