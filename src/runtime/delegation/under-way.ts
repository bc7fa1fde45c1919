/** What a task has begun and does not watch yet: calls that launch, and a plan's steps. */

export interface UnderWay {
  /** Does the work; whatever ids it says that it has started are in flight until it has settled. */
  run<T>(work: (onStarted: (id: string) => void) => Promise<T>): Promise<T>;
  ids(): string[];
  any(): boolean;
  /** Settles once what is under way now has. Never rejects. */
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
