/** Follow a transfer while its page is open and seen: every event goes into the query cache, where pages read it. */

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { observedFetch } from "../api/client";
import { lost } from "../api/connection";
import { ENDED, eventsKey, failedKey, transferQuery } from "../api/queries";
import type { Transfer, TransferEvent } from "../api/schema";
import { grown, type Point } from "./series";
import { EventParser } from "./sse";
import { seen, withStream } from "./streams";

/** Waits between attempts: the first, and the longest after failures in a row. */
const AGAIN_MS = 1000;
const LONGEST_MS = 15_000;
/** The service says something at least every 15 s; a stream that is silent for longer than this is dead. */
const SILENCE_MS = 40_000;

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
    const broken = new AbortController();
    const hidden = () => {
      if (document.hidden) broken.abort();
    };
    document.addEventListener("visibilitychange", hidden);
    try {
      const response = await observedFetch(
        new Request(`${window.location.origin}/api/v1/transfers/${encodeURIComponent(this.id)}/watch`, {
          signal: AbortSignal.any([this.stop, broken.signal]),
          headers: { accept: "text/event-stream", "last-event-id": this.last },
          credentials: "same-origin",
        }),
      );
      if (response.ok && response.body !== null) {
        this.failures = 0;
        await this.read(response.body, broken);
      } else {
        this.failures += 1;
        this.refused = response.status === 401 || response.status === 403 || response.status === 404;
      }
    } catch {
      // The stream broke; the banner says so if the service is away. `follow` comes back.
      this.failures += 1;
    } finally {
      document.removeEventListener("visibilitychange", hidden);
    }
  }

  private async read(body: ReadableStream<Uint8Array>, broken: AbortController): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    const silent = () => {
      lost();
      broken.abort();
    };
    let timer = setTimeout(silent, SILENCE_MS);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(silent, SILENCE_MS);
        for (const { event, data, id } of parser.feed(decoder.decode(value, { stream: true }))) {
          const told: unknown = JSON.parse(data);
          this.last = id ?? this.last;
          if (isEvent(told) && told.transfer != null) this.see(told.transfer);
          if (event !== "progress") this.changed();
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private see(transfer: Transfer): void {
    this.client.setQueryData(transferQuery(transfer.id).queryKey, transfer);
    this.client.setQueryData(seriesKey(transfer.id), (old: readonly Point[] | undefined) => grown(old ?? [], transfer.progress));
  }

  private changed(): void {
    void this.refresh(eventsKey(this.id));
    void this.refresh(failedKey(this.id));
  }

  /** Asks again for the pages that are shown. A further page that is on its way comes first: asking anew would throw it away. */
  private async refresh(queryKey: readonly string[]): Promise<void> {
    const query = this.client.getQueryCache().find({ queryKey });
    if (query?.state.fetchMeta?.fetchMore !== undefined) await query.promise?.catch(() => undefined);
    await this.client.invalidateQueries({ queryKey });
  }
}

/** The service's own models make these; this only refuses what is no event at all. */
function isEvent(value: unknown): value is TransferEvent {
  return typeof value === "object" && value !== null && "sequence" in value && "transfer" in value;
}
