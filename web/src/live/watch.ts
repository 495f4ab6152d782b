/** Follow a transfer while its page is open and seen: every event goes into the query cache, where pages read it. */

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { ENDED, eventsKey, failedKey, transferQuery } from "../api/queries";
import type { Transfer, TransferEvent } from "../api/schema";
import { Follower, type Pause } from "./follower";
import { refreshed } from "./refresh";
import { grown, type Point } from "./series";
import type { ServerEvent } from "./sse";

/** The longest wait between attempts. */
const LONGEST_MS = 15_000;

export const seriesKey = (transfer: string) => ["series", transfer] as const;

export function useWatch(transfer: Transfer): void {
  const client = useQueryClient();
  const ended = ENDED.has(transfer.state);
  const id = transfer.id;
  const stage = `${transfer.attempt.toString()} ${transfer.state}`;
  const seen = useRef(stage);
  // Whoever told it first: the end of an attempt often comes with an answer, and the watch hears no more of it.
  useEffect(() => {
    if (seen.current === stage) return;
    seen.current = stage;
    void refreshed(client, eventsKey(id));
    void refreshed(client, failedKey(id));
  }, [client, id, stage]);
  useEffect(() => {
    if (ended) return;
    const stop = new AbortController();
    void new Watch(client, id, stop.signal).follow();
    return () => stop.abort();
  }, [client, id, ended]);
}

export class Watch extends Follower {
  constructor(
    private readonly client: QueryClient,
    private readonly id: string,
    stop: AbortSignal,
    pause?: Pause,
  ) {
    super(`/transfers/${encodeURIComponent(id)}/watch`, "0", LONGEST_MS, stop, pause);
  }

  protected override isOver(): boolean {
    const now = this.client.getQueryData(transferQuery(this.id).queryKey);
    return now !== undefined && ENDED.has(now.state);
  }

  protected override async asked(): Promise<void> {
    const { queryKey } = transferQuery(this.id);
    await this.client.invalidateQueries({ queryKey });
    const now = this.client.getQueryData(queryKey);
    if (now !== undefined) this.see(now);
  }

  protected override take({ event, data }: ServerEvent): void {
    const told: unknown = JSON.parse(data);
    if (isEvent(told) && told.transfer != null) this.see(told.transfer);
    if (event !== "progress") void refreshed(this.client, eventsKey(this.id));
  }

  private see(transfer: Transfer): void {
    this.client.setQueryData(transferQuery(transfer.id).queryKey, transfer);
    this.client.setQueryData(seriesKey(transfer.id), (old: readonly Point[] | undefined) => grown(old ?? [], transfer.progress));
  }
}

/** The service's own models make these; this only refuses what is no event at all. */
function isEvent(value: unknown): value is TransferEvent {
  return typeof value === "object" && value !== null && "sequence" in value && "transfer" in value;
}
