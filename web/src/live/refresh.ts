import type { QueryClient } from "@tanstack/react-query";

/** Asks again for what is shown below a key. A further page that is on its way comes first: asking anew would throw it away. */
export async function refreshed(client: QueryClient, queryKey: readonly string[]): Promise<void> {
  for (const query of client.getQueryCache().findAll({ queryKey })) {
    if (query.state.fetchMeta?.fetchMore !== undefined) await query.promise?.catch(() => undefined);
  }
  await client.invalidateQueries({ queryKey });
}
