import { answer, api } from "./client";
import type { Person } from "./schema";

/** As many as one answer holds. */
const MOST = 1000;

/** Read all people, however many answers that takes. */
export async function everybody(signal: AbortSignal): Promise<Person[]> {
  const found: Person[] = [];
  for (;;) {
    const page = await answer(api.GET("/api/v1/people", { params: { query: { limit: MOST, after: found.at(-1)?.id } }, signal }));
    found.push(...page);
    if (page.length < MOST) return found;
  }
}
