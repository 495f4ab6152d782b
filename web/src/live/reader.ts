/** Reads one stream of server-sent events until it ends, breaks, is silent for too long, or its tab is not seen any more. */

import { observedFetch } from "../api/client";
import { lost } from "../api/connection";
import { EventParser, type ServerEvent } from "./sse";

/** The service says something at least every 15 s; a stream that is silent for longer than this is dead. */
const SILENCE_MS = 40_000;

export interface Opened {
  /** Below `/api/v1`. */
  path: string;
  /** The number to go on after; `null`: from now on. */
  last: string | null;
  stop: AbortSignal;
  take: (event: ServerEvent) => void;
}

/** How a stream ended: `refused` when asking again is of no use, because the caller may not see it. */
export type Ended = "whole" | "broken" | "refused";

const REFUSED: readonly number[] = [401, 403, 404];

export async function readStream({ path, last, stop, take }: Opened): Promise<Ended> {
  const broken = new AbortController();
  const hidden = () => {
    if (document.hidden) broken.abort();
  };
  document.addEventListener("visibilitychange", hidden);
  try {
    const response = await observedFetch(
      new Request(`${window.location.origin}/api/v1${path}`, {
        signal: AbortSignal.any([stop, broken.signal]),
        headers: { accept: "text/event-stream", ...(last === null ? {} : { "last-event-id": last }) },
        credentials: "same-origin",
      }),
    );
    if (!response.ok || response.body === null) return REFUSED.includes(response.status) ? "refused" : "broken";
    await read(response.body, broken, take);
    return "whole";
  } catch {
    // The banner says so if the service is away.
    return "broken";
  } finally {
    document.removeEventListener("visibilitychange", hidden);
  }
}

async function read(body: ReadableStream<Uint8Array>, broken: AbortController, take: (event: ServerEvent) => void): Promise<void> {
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
      for (const event of parser.feed(decoder.decode(value, { stream: true }))) take(event);
    }
  } finally {
    clearTimeout(timer);
  }
}
