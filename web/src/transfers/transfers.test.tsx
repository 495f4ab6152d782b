import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { failedQuery, meQuery, planQuery } from "../api/queries";
import type { Me, Plan, Progress, Transfer, TransferIntent } from "../api/schema";
import { askedBefore, forNow } from "./again";
import { arrival } from "./Arrived";
import { Controls } from "./Controls";
import { FailedFiles } from "./FailedFiles";
import { DeadlineBadge } from "../ui/state";
import { Summary } from "./Summary";

const progress: Progress = {
  files_total: 2, files_done: 1, files_failed: 0, files_failed_for_good: 0, files_identical: 0, bytes_total: 100, bytes_received: 0, bytes_durable: 100, bytes_failed: 0,
  resent_bytes: 0, sources_kept: 0, deletes_total: 0, deleted: 0, sources_deleted: 0, deleted_to_trash: false, rate_bps: 0, streams: 0, limiter: "", eta_s: null, eta_low_s: null, eta_high_s: null, at: null,
};

describe("what has arrived", () => {
  it.each([
    ["complete", {}, 100, 0],
    ["complete", { bytes_total: 0, bytes_durable: 0 }, 100, 0],
    ["complete", { bytes_total: 0, bytes_durable: 0, files_done: 30, files_total: 30 }, 100, 0],
    ["partial", { bytes_total: 0, bytes_durable: 0, files_done: 29, files_failed: 1, files_failed_for_good: 0, files_identical: 0, files_total: 30 }, 97, 0],
    ["partial", { files_failed: 1, files_failed_for_good: 0, files_identical: 0 }, 99, 0],
    ["partial", { files_failed: 1, files_failed_for_good: 0, files_identical: 0, bytes_durable: 100, bytes_failed: 300 }, 25, 75],
    ["partial", { files_failed: 1, files_failed_for_good: 0, files_identical: 0, bytes_durable: 1_000_000, bytes_total: 1_000_001, bytes_failed: 1 }, 99, 1],
    ["failed", {}, 99, 0],
    ["running", { bytes_durable: 50 }, 50, 0],
    ["running", { deleted: 5, deletes_total: 9 }, 99, 0],
    ["running", { deleted: 9, deletes_total: 9 }, 100, 0],
  ] as const)("of a %s transfer with %o is %i percent, and %i failed", (state, part, safe, failed) =>
    expect(arrival({ state, progress: { ...progress, ...part } })).toMatchObject({ safe, failed }));
});

it("what has arrived and is not safe yet is told apart, while it runs", () => {
  const part = { ...progress, bytes_durable: 10, bytes_received: 40 };
  expect(arrival({ state: "running", progress: part })).toMatchObject({ safe: 10, underWay: 30 });
  expect(arrival({ state: "failed", progress: part })).toMatchObject({ safe: 10, underWay: 0 });
  expect(arrival({ state: "running", progress: { ...part, bytes_received: 0 } })).toMatchObject({ safe: 10, underWay: 0 });
});

const ACTIONS = ["pause", "resume", "cancel", "retry", "set_rate", "run_again"] as const;

const me: Me = { id: "pn_1", name: "ada", roles: ["requester"], scopes: [], session: true, groups: [], factors: ["pwd"], method: "password" };

function steered(part: Partial<Transfer>): Transfer {
  return {
    id: "tr_1", plan: "pl_1", plan_digest: "0".repeat(64), state: "failed", state_reason: "", requester: "pn_1", action: "copy", source: "a:/x", destination: "b:/y",
    canonical_sentence: "", created: "2026-01-01T00:00:00Z", attempt: 1, progress, summary: "", wish: "run", allowed_actions: [],
    next_step: { kind: "retry", by: "you", message: "" }, names_withheld: false, deadline_at_risk: false, qos_class: "bulk", deadline_note: "", deadline_told: "", probe: false, tuning: {}, ...part,
  };
}

async function show(transfer: Transfer, shown = <Controls transfer={transfer} />) {
  const client = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  client.setQueryData(meQuery.queryKey, me);
  const router = createRouter({ routeTree: createRootRoute({ component: () => shown }), history: createMemoryHistory() });
  await router.load();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const why = (name: string) => screen.getByRole("button", { name }).getAttribute("aria-description");

it("controls are offered as the service allows them, each refusal with its reason", async () => {
  const actions = ACTIONS.map((action) => ({ action, allowed: action === "resume", reason: action === "resume" ? "" : `no ${action} now` }));
  await show(steered({ state: "paused", allowed_actions: actions }));
  expect(["Pause", "Resume", "Change the rate", "Cancel"].map(why)).toEqual(["no pause now", null, "no set_rate now", "no cancel now"]);
});

it("what has ended is tried or run again, or changed and run, and nothing else", async () => {
  await show(steered({ allowed_actions: ACTIONS.map((action) => ({ action, allowed: action === "run_again", reason: action === "run_again" ? "" : `no ${action} now` })) }));
  expect(screen.getAllByRole("button").map(({ textContent }) => textContent)).toEqual(["Try again", "Run again", "Change and run"]);
  expect(["Try again", "Run again", "Change and run"].map(why)).toEqual(["no retry now", null, null]);
});

it("a rate above what the plan allows is refused before it is asked for, with that limit", async () => {
  await show(steered({ state: "running", plan_rate_ceiling_bps: 30_000_000, allowed_actions: [{ action: "set_rate", allowed: true, reason: "" }] }));
  fireEvent.click(screen.getByRole("button", { name: "Change the rate" }));
  const dialog = within(screen.getByRole("dialog"));
  const set = () => dialog.getByRole("button", { name: "Set the rate" }).getAttribute("aria-description");
  fireEvent.change(dialog.getByRole("textbox"), { target: { value: "40 Mb/s" } });
  expect(set()).toBe("This plan allows at most 30.0 Mb/s. For more, make a new plan.");
  fireEvent.change(dialog.getByRole("textbox"), { target: { value: "30 Mb/s" } });
  expect(set()).toBeNull();
});

it("a probe says that it copies nothing, and shows nothing as safe at the destination", async () => {
  const probe = steered({ state: "complete", probe: true });
  await show(probe, <Summary transfer={probe} />);
  expect(screen.getByText("It measures, and copies nothing")).toBeTruthy();
  expect(screen.queryByText(/100 %/)).toBeNull();
});

it("what runs shows how far it is with its deletes, and that the time left is that before them", async () => {
  const deleting = (part: Partial<Progress>) => steered({ state: "running", progress: { ...progress, eta_s: 60, ...part } });
  const shows = async (part: Partial<Progress>, ...words: string[]) => {
    const transfer = deleting(part);
    await show(transfer, <Summary transfer={transfer} />);
    for (const said of words) expect(screen.getByText(said)).toBeTruthy();
    cleanup();
  };
  await shows({ deletes_total: 2000 }, "0 of 2,000", "1 min, before it deletes");
  await shows({ deletes_total: 2000, deleted: 1500, deleted_to_trash: true }, "Moved to the trash at the destination", "1,500 of 2,000", "1 min");
  await shows({ sources_deleted: 7 }, "Deleted at the source", "7");
  const move = { ...deleting({}), action: "move" };
  await show(move, <Summary transfer={move} />);
  expect(screen.getByText("1 min, before it deletes")).toBeTruthy();
});

it("a deadline that was told to be at risk is marked until the transfer ends, and one that was missed for good", async () => {
  const marks = async (part: Partial<Transfer>) => {
    await show(steered(part), <DeadlineBadge transfer={steered(part)} />);
    const said = ["Deadline at risk", "Deadline missed"].filter((word) => screen.queryByText(word) !== null);
    cleanup();
    return said;
  };
  expect(await marks({ state: "running", deadline_told: "at_risk" })).toEqual(["Deadline at risk"]);
  expect(await marks({ state: "complete", deadline_told: "at_risk", ended: "2026-01-01T00:00:00Z" })).toEqual([]);
  expect(await marks({ state: "complete", deadline_told: "missed", ended: "2026-01-01T00:00:00Z" })).toEqual(["Deadline missed"]);
  expect(await marks({ state: "running" })).toEqual([]);
});

it("a deadline at risk is said with the reason and by how much it would come late", async () => {
  const transfer = steered({ state: "paused", deadline: "2026-01-01T06:00:00Z", deadline_at_risk: true, deadline_note: "uplink will carry too little", deadline_late_s: 300 });
  await show(transfer, <Summary transfer={transfer} />);
  expect(screen.getByText("Its deadline is at risk")).toBeTruthy();
  expect(screen.getByText(/uplink will carry too little/)).toBeTruthy();
  expect(screen.getByText(/It would come about 5 min late\./)).toBeTruthy();
});

it("what is run again keeps no times that have passed", () => {
  const intent: TransferIntent = {
    action: "copy", source: "a:/x", destination: "b:/y", include: [], exclude: ["*.tmp"], preserve: [], priority: "normal", encryption: true, verify: "default",
    compare: "size-mtime", delete_extraneous: false, start: "2026-01-01T06:00:00Z", deadline: "2026-01-01T18:00:00Z",
  };
  expect(forNow(intent, Date.parse("2026-01-01T12:00:00Z"))).toEqual({ ...intent, start: null });
});

it("what is run again keeps the streams and units that were set for it, beside what was asked for", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const intent: TransferIntent = {
    action: "copy", source: "a:/x", destination: "b:/y", include: [], exclude: [], rate_limit_bps: 3_000_000, priority: "normal", encryption: true, verify: "default",
    compare: "size-mtime", delete_extraneous: false, preserve: [],
  };
  const plan: Partial<Plan> = { id: "pl_1", intent, tuning: { streams: { value: 4, level: "transfer" }, unit_bytes: { value: 2 ** 24, level: "pair" } } };
  client.setQueryData<Partial<Plan>>(planQuery("pl_1").queryKey, plan);
  expect(await askedBefore(client, { plan: "pl_1" })).toEqual({ intent: { ...intent, start: null, deadline: null }, probe: null, tuning: { streams: 4, unit_bytes: null } });
});

it.each([["one's own transfer", "pn_1", null], ["the transfer of somebody else", "pn_2", "Give a reason: it is kept with the transfer."]])("to pause %s", async (_, requester, needs) => {
  await show(steered({ state: "running", requester, allowed_actions: [{ action: "pause", allowed: true, reason: "" }] }));
  fireEvent.click(screen.getByRole("button", { name: "Pause" }));
  const pause = within(screen.getByRole("dialog")).getByRole("button", { name: "Pause" });
  expect(pause.getAttribute("aria-description")).toBe(needs);
});

it("each failed file shows its reason and what to do", () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const items = [
    { path: "a", error: "no_space", message: "no space left", retry: true, advice: "Free space, then retry." },
    { path: "b", error: "source_unsupported", message: "a socket", retry: false, advice: "Exclude it." },
  ];
  client.setQueryData(failedQuery("tr_1").queryKey, { pages: [{ items, next: null }], pageParams: [""] });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <FailedFiles transfer={steered({})} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const [, first, second] = screen.getAllByRole("row");
  for (const [row, ...texts] of [[first, "no space left", "Free space, then retry."], [second, "a socket", "Exclude it."]] as const) {
    for (const text of texts) expect(row?.textContent).toContain(text);
  }
});

it.each([
  ["waiting", "has not ended: 0 of 2 files arrived so far"],
  ["failed", "failed as a whole, and no file by itself: 0 of 2 arrived"],
  ["canceled", "was canceled, and no file failed by itself: 0 of 2 arrived"],
  ["partial", "no list says which did not"],
  ["complete", "Every file arrived."],
] as const)("that no file of a %s transfer is listed means: %s", (state, meaning) => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(failedQuery("tr_1").queryKey, { pages: [{ items: [], next: null }], pageParams: [""] });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <FailedFiles transfer={steered({ state, progress: { ...progress, files_done: 0 } })} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  expect(document.body.textContent).toContain(meaning);
  expect(document.body.textContent.includes("Every file arrived.")).toBe(state === "complete");
});
