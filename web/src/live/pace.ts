/** How often lists are asked for: seldom while the service tells what changes. */

/** What no change tells of (a clock, how many transfers run on a node) is no older than this. */
const TOLD_MS = 15_000;

let told = false;

/** Say whether changes are told now. */
export function setTold(now: boolean): void {
  told = now;
}

/** The interval of a query that is asked for every `alone` ms while nobody tells what changes. */
export function paced(alone: number): () => number {
  return () => (told ? Math.max(alone, TOLD_MS) : alone);
}
