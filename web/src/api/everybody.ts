import { answer, api } from "./client";
import type { Person } from "./schema";

/** As many as one answer holds. */
const MOST = 1000;

/** Read all people, however many answers that takes. */
export async function everybody(signal: AbortSignal): Promise<Person[]> {
  const found: Person[] = [];
  for (let after: string | null | undefined; ; ) {
    const page = await answer(api.GET("/api/v1/people", { params: { query: { limit: MOST, after } }, signal }));
    found.push(...page.items);
    after = page.next;
    if (after == null) return found;
  }
}
