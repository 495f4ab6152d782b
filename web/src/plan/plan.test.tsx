import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState, type ReactNode } from "react";
import { expect, it, vi } from "vitest";
import { folderQuery } from "../api/queries";
import type { AllowedAction, Endpoint, Entry, Plan, QuotaUse, SurveyCounts } from "../api/schema";
import { Browser } from "./Browser";
import { Counts } from "./Counts";
import { lossesQuery } from "./dry-run";
import { Losses } from "./Losses";
import { IntentForm } from "./IntentForm";
import { EMPTY, fromAddress, type Draft } from "./intent";
import { PlanBadge } from "../ui/state";
import { ApproverActions } from "./ApproverActions";
import { RequesterActions } from "./RequesterActions";
import { WordsBar } from "./WordsBar";

const when = "2026-01-01T00:00:00Z";

async function show(node: ReactNode, client = new QueryClient()) {
  const router = createRouter({ routeTree: createRootRoute({ component: () => node }), history: createMemoryHistory() });
  await router.load();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const endpoint = (id: string): Endpoint => ({ id, aliases: [], kind: "posix", node: "n", root: id, access: "write", labels: {}, folder_labels: {}, version: "", online: true });
const entry = (name: string, kind: Entry["kind"]): Entry => ({ name, kind, size_bytes: 1, modified: when });

it("the panes name a source as it is and a destination as a folder to copy into", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const opened = "/2026/x";
  for (const [id, path] of [["krios1", "/"], ["archive", opened]] as const) {
    client.setQueryData(folderQuery(id, path).queryKey, {
      pages: [{ endpoint: id, path, items: [entry("run42", "dir"), entry("film.tiff", "file")], count: 2, names_withheld: false, next: null }],
      pageParams: [""],
    });
  }
  const seen = vi.fn<(draft: Draft) => void>();
  function Panes() {
    const [draft, setDraft] = useState<Draft>({ ...EMPTY, destination: `archive:${opened}/y` });
    seen(draft);
    return <Browser draft={draft} endpoints={[endpoint("krios1"), endpoint("archive")]} onChange={setDraft} />;
  }
  await show(<Panes />, client);
  const pane = (name: string) => within(screen.getByRole("region", { name }));
  fireEvent.change(pane("Source").getByRole("combobox"), { target: { value: "krios1" } });
  fireEvent.click(pane("Source").getByRole("button", { name: "Choose this folder" }));
  fireEvent.click(pane("Destination").getByRole("button", { name: "Copy into this folder" }));
  expect(seen.mock.lastCall?.[0]).toMatchObject({ source: "krios1:/", destination: `archive:${opened}/` });
});

it("a field that can't be read says so, and its text is kept", async () => {
  const changed = vi.fn<(draft: Draft) => void>();
  await show(<IntentForm draft={{ ...EMPTY, rate: "3 gigs" }} endpoints={[]} onChange={changed} />);
  const rate = screen.getByRole("textbox", { name: "No faster than" });
  expect(rate.getAttribute("aria-invalid")).toBe("true");
  fireEvent.change(rate, { target: { value: "4 gigs" } });
  expect(changed.mock.lastCall?.[0].rate).toBe("4 gigs");
});

const may = (allowed: boolean, reason = ""): AllowedAction[] =>
  (["confirm", "decline", "approve", "refuse", "submit", "revise", "drop"] as const).map((action) => ({ action, allowed, reason }));
const plan: Plan = {
  id: "pl_1", state: "ready", state_reason: "", requester: "pn_1", created: when, digest: "0".repeat(64), surveyed_entries: 0, danger: [], questions: [], refusals: [],
  notes: [], confirmed: false, approvals: [], summary: "", needs: [], next_step: { kind: "submit", by: "you", message: "It can be submitted." }, allowed_actions: may(true), names_withheld: false, warnings: [], quotas: [], origins: [], tuning: {},
};
const start = () => screen.queryByRole("button", { name: "Start the transfer" });

it("a plan is started only when the service allows it and it is of the words beside it", async () => {
  await show(<RequesterActions plan={plan} stale={false} />);
  expect(start()?.getAttribute("aria-disabled")).toBeNull();
});
it("a plan of other words can't be started", async () => {
  await show(<RequesterActions plan={plan} stale />);
  expect(start()?.getAttribute("aria-description")).toContain("made from other words");
});
it("what the service does not allow can't be started, with its reason", async () => {
  await show(<RequesterActions plan={{ ...plan, allowed_actions: may(false, "the policy has changed") }} stale={false} />);
  expect(start()?.getAttribute("aria-description")).toBe("the policy has changed");
});
it("a plan that is over offers to ask again, and nothing else", async () => {
  await show(<RequesterActions plan={{ ...plan, words: "copy a:/x to b:/y", state_reason: "refused", next_step: { kind: "plan_again", by: "you", message: "It was refused." } }} stale={false} />);
  expect(start()).toBeNull();
  expect(screen.getByRole("link", { name: "Ask for it again" }).getAttribute("href")).toContain("/new?words=");
});
it("streams and units that were set are seen in the form that asks for them again", async () => {
  const intent = { action: "copy", source: "a:/x", destination: "b:/y", priority: "normal", encryption: true, verify: "default", compare: "size-mtime", delete_extraneous: false } as const;
  const tuned: Plan = {
    ...plan, words: "copy a:/x to b:/y", intent: { ...intent, include: [], exclude: [], preserve: [] }, tuning: { streams: { value: 4, level: "transfer" }, unit_bytes: { value: 2 ** 24, level: "site" } },
    next_step: { kind: "plan_again", by: "you", message: "It was refused." },
  };
  await show(<RequesterActions plan={tuned} stale={false} />);
  const link = new URL(screen.getByRole("link", { name: "Ask for it again" }).getAttribute("href") ?? "", "http://here");
  const form = fromAddress(JSON.parse(link.searchParams.get("form") ?? "null"));
  expect(form).toMatchObject({ source: "a:/x", streams: "4", unit: "" });
  cleanup();
  await show(<IntentForm draft={form ?? EMPTY} endpoints={[]} onChange={vi.fn()} />);
  expect(screen.getByRole("textbox", { name: "Streams" })).toHaveProperty("value", "4");
  expect(screen.getByText("More choices").closest("details")?.open).toBe(true);
});
it("a plan that asks back, found again on its own page, leads back to its words", async () => {
  const asks: Plan = { ...plan, state: "ask", words: "copy it again", next_step: { kind: "answer", by: "you", message: "It asks questions." } };
  await show(<RequesterActions plan={asks} stale={false} alone />);
  expect(start()).toBeNull();
  expect(screen.getByRole("link", { name: "Ask for it again" }).getAttribute("href")).toContain("/new?words=copy");
});
it("what will not arrive is said beside the start, and a request that nobody wants is dropped there", async () => {
  const message = "It can be submitted. 1 file will not arrive.";
  const lacking: Plan = { ...plan, warnings: ["1 file will not arrive."], next_step: { kind: "submit", by: "you", message }, allowed_actions: [...may(true), { action: "drop", allowed: true, reason: "" }] };
  await show(<RequesterActions plan={lacking} stale={false} />);
  const next = within(screen.getByRole("region", { name: "Next" }));
  expect(next.getByText(message).parentElement?.querySelector("svg")).not.toBeNull();
  expect(next.getByRole("button", { name: "Drop this request" }).getAttribute("aria-disabled")).toBeNull();
});
it("a plan that was started shows where its transfer stands", async () => {
  await show(<PlanBadge plan={{ ...plan, transfer_state: "partial" }} />);
  expect(screen.getByText("Partly done")).toBeTruthy();
  expect(screen.queryByText("Ready")).toBeNull();
});
it("an approver ticks what will be lost before the yes", async () => {
  const survey = {
    files: 1, bytes: 1, directories: 0, symlinks: 0, identical_files: 0, excluded_files: 0, skipped_special: 0, conflicts: 0, overwrites: 0, overwritten_bytes: 0,
    deletes: 3, deleted_bytes: 1, destination_free_bytes: 1, sample: [], overwrites_sample: [], deletes_sample: [], conflicts_sample: [],
  };
  const intent = { action: "sync", source: "a:/x", destination: "b:/y", include: [], exclude: [], priority: "normal", encryption: true, verify: "default", compare: "size-mtime", delete_extraneous: true, preserve: [] } as const;
  await show(<ApproverActions plan={{ ...plan, survey, intent: { ...intent, include: [], exclude: [], preserve: [] } }} />);
  const approve = () => screen.getByRole("button", { name: "Approve" });
  expect(approve().getAttribute("aria-disabled")).toBe("true");
  await userEvent.click(screen.getByRole("checkbox"));
  expect(approve().getAttribute("aria-disabled")).toBeNull();
});

it("Enter makes the plan, and not while an input method composes", async () => {
  const made = vi.fn();
  await show(
    <WordsBar text="copy" onChange={vi.fn()} onPlan={made} reading={undefined} current={false}>
      {null}
    </WordsBar>,
  );
  const words = screen.getByLabelText("What should be where?");
  fireEvent.keyDown(words, { key: "Enter", isComposing: true });
  fireEvent.keyDown(words, { key: "Enter", shiftKey: true });
  expect(made).not.toHaveBeenCalled();
  fireEvent.keyDown(words, { key: "Enter" });
  expect(made).toHaveBeenCalledOnce();
});

it("a plan's card shows how long it may take, from what, and what is used of each quota", async () => {
  const survey: SurveyCounts = {
    bytes: 0, conflicts: 0, conflicts_sample: [], deleted_bytes: 0, deletes: 0, deletes_sample: [], destination_free_bytes: 0, directories: 0, excluded_files: 0, files: 0, identical_files: 0, overwrites: 0, overwrites_sample: [], overwritten_bytes: 0, sample: [], skipped_special: 0, symlinks: 0,
  };
  const estimate = { low_s: 240, likely_s: 300, high_s: 420, bytes_s: 0, files_s: 0, deletes_s: 0, said: "from the last 12 transfers between these nodes" };
  const quota: QuotaUse = { of: "group", subject: "cryo", bytes_a_day: 100, bytes_used: 90, files_used: 0, transfers: 4, transfers_used: 1, renews: when };
  await show(<Counts action="copy" survey={survey} etaS={300} estimate={estimate} quotas={[quota]} />);
  for (const text of ["5 min", "4 min to 7 min, from the last 12 transfers between these nodes", "90 B of 100 B used today", "1 of 4 transfers at once"]) {
    expect(document.body.textContent).toContain(text);
  }
});

const intent: Plan["intent"] = {
  action: "sync", source: "lab:/set", destination: "archive:/set", include: [], exclude: [], preserve: [], delete_extraneous: true, encryption: true, verify: "default", compare: "size-mtime", priority: "normal",
};
const lost: SurveyCounts = {
  files: 0, bytes: 0, directories: 0, symlinks: 0, identical_files: 0, excluded_files: 0, skipped_special: 0, conflicts: 0, overwrites: 0, overwritten_bytes: 0,
  deletes: 3, deleted_bytes: 30, destination_free_bytes: 1, sample: [], overwrites_sample: [], deletes_sample: ["a"], conflicts_sample: [],
};

it.each([
  [1, "1 file (1 B) at", "1 name (1 B) at"],
  [2, "2 files (2 B) at", "2 names (2 B) at"],
])("what is said of %i losses fits their number", async (count, files, names) => {
  const survey = { ...lost, overwrites: count, overwritten_bytes: count, deletes: count, deleted_bytes: count };
  await show(<Losses plan={{ ...plan, survey, intent }} survey={survey} />);
  const said = document.body.textContent;
  expect(said).toContain(files);
  expect(said).toContain(names);
  expect(said).not.toMatch(/\b(they|them|their|is lost them)\b/);
});

it("all names that a plan deletes can be read, page by page", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const loss = (path: string) => ({ how: "deleted" as const, path, kind: "file" as const, bytes: 1 });
  client.setQueryData(lossesQuery("pl_1", "deleted").queryKey, { pages: [{ items: [loss("a"), loss("b\u202e")], moved: 0, next: "2.b9" }], pageParams: [""] });
  await show(<Losses plan={{ ...plan, survey: lost, intent }} survey={lost} />, client);
  fireEvent.click(screen.getByText("Names that will be deleted"));
  expect(screen.getByText("b\\u{202E}")).toBeDefined();
  expect(screen.getByText("and 1 more")).toBeDefined();
  expect(screen.getByRole("button", { name: "Show all names" })).toBeDefined();
});
