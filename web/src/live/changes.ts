/** Follow what changes while the console is open and seen, and ask again for the lists that it is about. */

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Follower, type Pause } from "./follower";
import { setTold } from "./pace";
import { refreshed } from "./refresh";
import type { ServerEvent } from "./sse";

/** The longest wait between attempts. */
const LONGEST_MS = 60_000;
/** Changes that come within this time are one reason to ask. */
const GATHER_MS = 300;

type Key = readonly string[];

const LISTS: Readonly<Record<string, readonly Key[]>> = {
  plan: [["plans"]],
  transfer: [["transfers"], ["plans"], ["nodes"]],
  node: [["nodes"], ["endpoints"], ["health"]],
  endpoint: [["endpoints"]],
  policy: [["policies"], ["qos"]],
  qos: [["qos"], ["qos-versions"]],
  halt: [["halts"], ["health"], ["transfers"]],
};
const ALL: readonly Key[] = Object.values(LISTS).flat();

export function useChanges(): void {
  const client = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    void new Changes(client, stop.signal).follow();
    return () => stop.abort();
  }, [client]);
}

export class Changes extends Follower {
  private readonly stale = new Map<string, Key>();

  constructor(
    private readonly client: QueryClient,
    stop: AbortSignal,
    pause?: Pause,
  ) {
    super("/events", null, LONGEST_MS, stop, pause);
  }

  protected override broke(): void {
    setTold(false);
    // From now on they are asked for at their own pace again, which begins with an answer.
    this.mark(ALL);
  }

  protected override take({ event, data }: ServerEvent): void {
    const fresh = this.last === null;
    if (event === "now") setTold(true);
    // What changed before the first word, or is not kept any more, is not told.
    if (event === "reload" || (event === "now" && fresh)) this.mark(ALL);
    const subject = subjectOf(JSON.parse(data));
    this.mark(LISTS[event] ?? []);
    if (subject !== "") this.mark([[event, subject]]);
  }

  private mark(keys: readonly Key[]): void {
    if (this.stale.size === 0 && keys.length > 0) setTimeout(() => this.ask(), GATHER_MS);
    for (const key of keys) this.stale.set(key.join(" "), key);
  }

  private ask(): void {
    const keys = [...this.stale.values()];
    this.stale.clear();
    if (this.stop.aborted) return;
    for (const key of keys) void refreshed(this.client, key);
  }
}

/** The service's own model makes it; what is none names nothing. */
function subjectOf(told: unknown): string {
  return typeof told === "object" && told !== null && "subject" in told && typeof told.subject === "string" ? told.subject : "";
}
