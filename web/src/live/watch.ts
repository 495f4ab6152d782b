/** Follow a transfer while its page is open and seen: every event goes into the query cache, where pages read it. */

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { ENDED, eventsKey, failedKey, transferQuery } from "../api/queries";
import type { Transfer, TransferEvent } from "../api/schema";
import { readStream } from "./reader";
import { refreshed } from "./refresh";
import { grown, type Point } from "./series";
import type { ServerEvent } from "./sse";
import { seen, withStream } from "./streams";

/** Waits between attempts: the first, and the longest after failures in a row. */
const AGAIN_MS = 1000;
const LONGEST_MS = 15_000;

export const seriesKey = (transfer: string) => ["series", transfer] as const;

export function useWatch(transfer: Transfer): void {
  const client = useQueryClient();
  const ended = ENDED.has(transfer.state);
  const id = transfer.id;
  useEffect(() => {
    if (ended) return;
    const stop = new AbortController();
    void new Watch(client, id, stop.signal).follow();
    return () => stop.abort();
  }, [client, id, ended]);
}

export class Watch {
  private failures = 0;
  private refused = false;
  private last = "0";

  constructor(
    private readonly client: QueryClient,
    private readonly id: string,
    private readonly stop: AbortSignal,
    private readonly pause: (ms: number) => Promise<unknown> = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  ) {}

  /** Comes back after every break, until it is stopped, the transfer has ended, or the service says that it is not to be seen. */
  async follow(): Promise<void> {
    for (;;) {
      await seen(this.stop);
      if (this.isOver()) return;
      // Without one of the browser's few streams the page still follows, by asking.
      await withStream(() => this.stream());
      if (this.isOver()) return;
      await this.ask();
      if (this.isOver()) return;
      await this.pause(Math.min(AGAIN_MS * 2 ** Math.max(0, this.failures - 1), LONGEST_MS));
    }
  }

  private isOver(): boolean {
    const now = this.client.getQueryData(transferQuery(this.id).queryKey);
    return this.stop.aborted || this.refused || (now !== undefined && ENDED.has(now.state));
  }

  private async ask(): Promise<void> {
    const { queryKey } = transferQuery(this.id);
    await this.client.invalidateQueries({ queryKey });
    const now = this.client.getQueryData(queryKey);
    if (now !== undefined) this.see(now);
  }

  private async stream(): Promise<void> {
    const ended = await readStream({
      path: `/transfers/${encodeURIComponent(this.id)}/watch`,
      last: this.last,
      stop: this.stop,
      take: (event) => this.take(event),
    });
    this.refused = ended === "refused";
    // `follow` comes back.
    if (ended !== "whole") this.failures += 1;
  }

  private take({ event, data, id }: ServerEvent): void {
    this.failures = 0;
    const told: unknown = JSON.parse(data);
    this.last = id ?? this.last;
    if (isEvent(told) && told.transfer != null) this.see(told.transfer);
    if (event !== "progress") this.changed();
  }

  private see(transfer: Transfer): void {
    this.client.setQueryData(transferQuery(transfer.id).queryKey, transfer);
    this.client.setQueryData(seriesKey(transfer.id), (old: readonly Point[] | undefined) => grown(old ?? [], transfer.progress));
  }

  private changed(): void {
    void refreshed(this.client, eventsKey(this.id));
    void refreshed(this.client, failedKey(this.id));
  }
}

/** The service's own models make these; this only refuses what is no event at all. */
function isEvent(value: unknown): value is TransferEvent {
  return typeof value === "object" && value !== null && "sequence" in value && "transfer" in value;
}
