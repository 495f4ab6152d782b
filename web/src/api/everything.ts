import { answer, api } from "./client";
import type { Person, PolicyVersion, QosVersion, Token } from "./schema";

/** As many people or tokens as one answer holds. */
const MOST = 1000;

interface Found<T> {
  items: T[];
  next?: string | null;
}

/** Read a whole list, however many answers that takes. */
async function everything<T>(read: (after: string | undefined) => Promise<Found<T>>): Promise<T[]> {
  const found: T[] = [];
  for (let after: string | undefined; ; ) {
    const page = await read(after);
    found.push(...page.items);
    if (page.next == null) return found;
    after = page.next;
  }
}

export const everybody = (signal: AbortSignal): Promise<Person[]> =>
  everything((after) => answer(api.GET("/api/v1/people", { params: { query: { limit: MOST, after } }, signal })));

/** One's own tokens, or everybody's. */
export const everyToken = (signal: AbortSignal, isOfAll = false): Promise<Token[]> =>
  everything((after) => answer(api.GET("/api/v1/tokens", { params: { query: { everybody: isOfAll, limit: MOST, after } }, signal })));

export const everyPolicy = (signal: AbortSignal): Promise<PolicyVersion[]> =>
  everything((after) => answer(api.GET("/api/v1/policies", { params: { query: { after } }, signal })));

export const everyQos = (signal: AbortSignal): Promise<QosVersion[]> =>
  everything((after) => answer(api.GET("/api/v1/qos/versions", { params: { query: { after } }, signal })));
