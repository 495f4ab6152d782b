/** Follow a transfer while its page is open: every event goes into the query cache, where pages read it. */

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { observedFetch } from "../api/client";
import { ENDED, eventsQuery, transferQuery } from "../api/queries";
import type { Transfer, TransferEvent } from "../api/schema";
import { grown, type Point } from "./series";
import { EventParser } from "./sse";

const AGAIN_MS = 1000;

export const seriesKey = (transfer: string) => ["series", transfer] as const;

export function useWatch(transfer: Transfer): void {
  const client = useQueryClient();
  const ended = ENDED.has(transfer.state);
  const id = transfer.id;
  useEffect(() => {
    if (ended) return;
    const stop = new AbortController();
    void follow(client, id, stop.signal);
    return () => stop.abort();
  }, [client, id, ended]);
}

/** Reconnects until it is stopped or the transfer has ended. */
async function follow(client: QueryClient, id: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await observedFetch(`/api/v1/transfers/${encodeURIComponent(id)}/watch`, {
        signal,
        headers: { accept: "text/event-stream" },
        credentials: "same-origin",
      });
      if (!response.ok || response.body === null) return;
      await read(client, id, response.body);
    } catch {
      // The stream broke; the banner says so if the service is away. Come back below.
    }
    if (stopped(signal)) return;
    await client.invalidateQueries({ queryKey: transferQuery(id).queryKey });
    const now = client.getQueryData(transferQuery(id).queryKey);
    if (now !== undefined && ENDED.has(now.state)) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** A call, because an abort during an `await` is not seen by the compiler. */
function stopped(signal: AbortSignal): boolean {
  return signal.aborted;
}

async function read(client: QueryClient, id: string, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const { event, data } of parser.feed(decoder.decode(value, { stream: true }))) {
      const told: unknown = JSON.parse(data);
      if (isEvent(told) && told.transfer != null) see(client, told.transfer);
      if (event !== "progress") void client.invalidateQueries({ queryKey: eventsQuery(id).queryKey });
    }
  }
}

function see(client: QueryClient, transfer: Transfer): void {
  client.setQueryData(transferQuery(transfer.id).queryKey, transfer);
  client.setQueryData(seriesKey(transfer.id), (old: readonly Point[] | undefined) => grown(old ?? [], transfer.progress));
}

/** The service's own models make these; this only refuses what is no event at all. */
function isEvent(value: unknown): value is TransferEvent {
  return typeof value === "object" && value !== null && "sequence" in value && "transfer" in value;
}
