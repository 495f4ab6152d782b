import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Changes } from "./changes";
import { paced } from "./pace";

const told = (kind: string, sequence: number, subject = "") =>
  `event: ${kind}\nid: ${sequence.toString()}\ndata: ${JSON.stringify({ sequence, at: "2026-01-01T00:00:00Z", kind, subject, state: "" })}\n\n`;

const asked: Request[] = [];
let answers: (() => Response)[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  asked.length = 0;
  vi.stubGlobal("navigator", { locks: { request: (_: string, __: unknown, act: (lock: object) => Promise<boolean>) => act({}) } });
  vi.stubGlobal("fetch", (request: Request) => {
    asked.push(request);
    return Promise.resolve(answers.shift()?.() ?? new Response(null, { status: 404 }));
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function follow() {
  const client = new QueryClient();
  const spy = vi.spyOn(client, "invalidateQueries");
  const stop = new AbortController();
  const paused: number[] = [];
  const changes = new Changes(client, stop.signal, (ms) => Promise.resolve(paused.push(ms)));
  const stale = () => {
    const keys = spy.mock.calls.map(([filter]) => filter?.queryKey?.join(" "));
    spy.mockClear();
    return keys;
  };
  return { stop, paused, stale, done: changes.follow() };
}

/** A stream that stays open, and what is written to it. */
function open(): { answer: () => Response; write: (text: string) => void; end: () => void } {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({ start: (one) => { control = one; } });
  return {
    answer: () => new Response(body),
    write: (text) => control?.enqueue(new TextEncoder().encode(text)),
    end: () => control?.close(),
  };
}

it("asks once for the lists that changes are about, and seldom for the others while it is told of them", async () => {
  const stream = open();
  answers = [stream.answer];
  const { stop, stale, done } = follow();
  expect(paced(2500)()).toBe(2500);
  stream.write(told("now", 7));
  await vi.advanceTimersByTimeAsync(300);
  expect(new Set(stale())).toEqual(new Set(["plans", "transfers", "nodes", "endpoints", "health", "policies", "qos", "qos-versions", "halts"]));
  expect(paced(2500)()).toBe(15_000);
  stream.write(told("plan", 8, "pl_1") + told("plan", 9, "pl_1") + told("something new", 10));
  await vi.advanceTimersByTimeAsync(299);
  expect(stale()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(stale()).toEqual(["plans", "plan pl_1"]);
  stop.abort();
  stream.end();
  await done;
  expect(paced(2500)()).toBe(2500);
});

it("goes on after what it has seen, and asks for everything when it was told of nothing for a while", async () => {
  answers = [() => new Response(told("now", 7) + told("node", 8, "nd_1")), () => new Response(null, { status: 500 }), () => new Response(told("reload", 99))];
  const { stale, done, paused } = follow();
  await done;
  expect(asked.map((one) => one.headers.get("last-event-id"))).toEqual([null, "8", "8", "99"]);
  expect(paused).toEqual([1000, 1000, 1000]);
  await vi.advanceTimersByTimeAsync(300);
  expect(stale()).toContain("halts");
  expect(paced(5000)()).toBe(5000);
});
