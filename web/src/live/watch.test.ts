import { InfiniteQueryObserver, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook } from "@testing-library/react";
import { createElement } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventsKey, failedKey, transferQuery } from "../api/queries";
import type { Progress, Transfer, TransferState } from "../api/schema";
import { useWatch, Watch } from "./watch";
import { withStream } from "./streams";

const progress: Progress = {
  files_total: 1, files_done: 0, files_failed: 0, files_failed_for_good: 0, files_identical: 0, bytes_total: 10, bytes_received: 0, bytes_durable: 0, bytes_failed: 0,
  resent_bytes: 0, sources_kept: 0, deletes_total: 0, deleted: 0, sources_deleted: 0, deleted_to_trash: false, rate_bps: 8, streams: 1, limiter: "", eta_s: null, eta_low_s: null, eta_high_s: null, at: "2026-01-01T00:00:00Z",
};
const transfer = (state: TransferState): Transfer => ({
  id: "tr_1", plan: "pl_1", plan_digest: "0".repeat(64), state, state_reason: "", requester: "pn_1", action: "copy", source: "a:/x", destination: "b:/y",
  canonical_sentence: "", created: "2026-01-01T00:00:00Z", attempt: 1, progress, summary: "", wish: "run", allowed_actions: [],
  next_step: { kind: "wait", by: "service", message: "" }, names_withheld: false, deadline_at_risk: false, qos_class: "bulk", deadline_note: "", deadline_told: "", probe: false, tuning: {},
});
const event = (state: TransferState, sequence: number) =>
  `event: ${state}\nid: ${sequence.toString()}\ndata: ${JSON.stringify({ sequence, at: progress.at, kind: state, message: "", transfer: transfer(state) })}\n\n`;

const held = new Set<string>();
const asked: Request[] = [];
let answers: (() => Response | Promise<Response>)[] = [];

beforeEach(() => {
  held.clear();
  asked.length = 0;
  vi.stubGlobal("navigator", {
    locks: {
      request: async (name: string, _: unknown, act: (lock: object | null) => Promise<boolean>) => {
        if (held.has(name)) return act(null);
        held.add(name);
        try {
          return await act({ name });
        } finally {
          held.delete(name);
        }
      },
    },
  });
  vi.stubGlobal("fetch", (request: Request) => {
    asked.push(request);
    return Promise.resolve(answers.shift()?.() ?? new Response(null, { status: 404 }));
  });
});
afterEach(() => vi.unstubAllGlobals());

function follow(now: TransferState = "running") {
  const client = new QueryClient();
  client.setQueryData(transferQuery("tr_1").queryKey, transfer(now));
  const stale = vi.spyOn(client, "invalidateQueries");
  const stop = new AbortController();
  const paused: number[] = [];
  const watch = new Watch(client, "tr_1", stop.signal, (ms) => new Promise((resolve) => setTimeout(() => resolve(paused.push(ms)), 0)));
  return { client, stale, stop, paused, done: watch.follow() };
}

describe("following a transfer", () => {
  it("comes back after a gateway's error and a broken stream, and asks only for what it has not seen", async () => {
    answers = [
      () => new Response("<h1>", { status: 502 }),
      () => new Response("", { status: 500, headers: { "content-type": "application/problem+json" } }),
      () => new Response(event("running", 7)),
      () => new Response(event("complete", 8)),
    ];
    const { client, done, paused, stale } = follow();
    await done;
    expect(client.getQueryData(transferQuery("tr_1").queryKey)?.state).toBe("complete");
    expect(asked.map((one) => one.headers.get("last-event-id"))).toEqual(["0", "0", "0", "7"]);
    expect(paused).toEqual([1000, 2000, 1000]);
    expect(stale).toHaveBeenCalledWith({ queryKey: eventsKey("tr_1") });
  });

  it("lets a page of older events come in that is on its way while new ones happen", async () => {
    let happen: (answer: Response) => void = () => undefined;
    answers = [() => new Promise<Response>((resolve) => (happen = resolve))];
    const { client, done } = follow();
    let come = (): void => undefined;
    const older = new Promise<void>((resolve) => (come = resolve));
    const events = new InfiniteQueryObserver(client, {
      queryKey: eventsKey("tr_1"),
      queryFn: async ({ pageParam, signal }) => {
        if (pageParam === 1) await older;
        signal.throwIfAborted();
        return [pageParam];
      },
      initialPageParam: 0,
      getNextPageParam: (_, pages) => (pages.length < 2 ? 1 : undefined),
    });
    const off = events.subscribe(() => undefined);
    await vi.waitFor(() => expect(events.getCurrentResult().hasNextPage).toBe(true));
    const page = events.fetchNextPage();
    happen(new Response(event("complete", 8)));
    await done;
    come();
    await page;
    await vi.waitFor(() => expect(events.getCurrentResult().data?.pages).toEqual([[0], [1]]));
    off();
  });

  it("ends when the transfer is not to be seen", async () => {
    answers = [() => new Response("{}", { status: 403 })];
    await follow().done;
    expect(asked).toHaveLength(1);
  });

  it("without a free stream goes on by asking", async () => {
    for (const slot of [1, 2, 3]) held.add(`headrace-stream-${slot.toString()}`);
    const { client, done, paused, stop } = follow();
    await vi.waitFor(() => expect(paused.length).toBeGreaterThan(2));
    stop.abort();
    await done;
    expect(asked).toHaveLength(0);
    expect(client.getQueryData(["series", "tr_1"])).toHaveLength(1);
  });
});

it.each([
  ["its end", { ...transfer("complete"), attempt: 1 }],
  ["the end of another attempt", { ...transfer("running"), attempt: 2 }],
])("events and failed files are asked for again when an answer brings %s before the watch does", (_, next) => {
  const client = new QueryClient();
  const stale = vi.spyOn(client, "invalidateQueries");
  const shown = renderHook((now: Transfer) => useWatch(now), {
    initialProps: transfer("running"),
    wrapper: ({ children }) => createElement(QueryClientProvider, { client }, children),
  });
  expect(stale).not.toHaveBeenCalled();
  shown.rerender(next);
  for (const queryKey of [eventsKey("tr_1"), failedKey("tr_1")]) expect(stale).toHaveBeenCalledWith({ queryKey });
  shown.unmount();
});

it("a browser holds at most three streams at once", async () => {
  const open: (() => void)[] = [];
  const streams = [1, 2, 3].map(() => withStream(() => new Promise((resolve) => open.push(resolve))));
  await vi.waitFor(() => expect(open).toHaveLength(3));
  expect(await withStream(() => Promise.reject(new Error("a fourth stream")))).toBe(false);
  for (const end of open) end();
  expect(await Promise.all(streams)).toEqual([true, true, true]);
});
