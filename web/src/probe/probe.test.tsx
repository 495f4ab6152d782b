import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { fireEvent, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, it } from "vitest";
import { planQuery } from "../api/queries";
import type { Endpoint, Plan, Probed } from "../api/schema";
import { RequesterActions } from "../plan/RequesterActions";
import { probedQuery } from "../quality/queries";
import { askedBefore } from "../transfers/again";
import { ProbeCard } from "../transfers/ProbeCard";
import { fromAddress, ofPlan, requestOf, USUAL, type Asked } from "./asked";
import { ProbeForm } from "./ProbeForm";

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

const endpoint = (id: string, part: Partial<Endpoint> = {}): Endpoint => ({ id, aliases: [], kind: "posix", node: "n", root: id, access: "write", labels: {}, folder_labels: {}, version: "", online: true, ...part });
const whole = { ...USUAL, source: "krios1", destination: "archive" };

function made(asked: Asked) {
  const { request } = requestOf(asked);
  if (request === null) throw new Error("it lacks something");
  return request;
}

it("two endpoints make a plan that only measures, within what the service takes when nothing is said", () => {
  const { request } = requestOf({ ...whole, read: "/raw" });
  expect(request).toMatchObject({ intent: { action: "copy", source: "krios1:/raw", destination: "archive:/", rate_limit_bps: null }, probe: { max_seconds: 10, max_bytes: 4 * 2 ** 30 } });
});

it.each([
  ["source", { source: "" }],
  ["destination", { destination: "" }],
  ["path", { read: "raw" }],
  ["path", { written: "" }],
  ["seconds", { seconds: "0" }],
  ["seconds", { seconds: "601" }],
  ["seconds", { seconds: "ten" }],
  ["size", { size: "1 kB" }],
  ["size", { size: "2 TiB" }],
  ["size", { size: "" }],
  ["rate", { rate: "fast" }],
  ["streams", { streams: "0" }],
  ["unit", { unit: "1 B" }],
] as const)("a probe lacks its %s with %o, and nothing is asked for", (lacks, part) => {
  expect(requestOf({ ...whole, ...part })).toEqual({ request: null, lacks });
});

it("what a plan was made of comes back as it was, through the address", () => {
  const request = made({ ...whole, read: "/raw", written: "/2026", seconds: "30", size: "20 GB", rate: "5 Gb/s", streams: "4", unit: "16 MiB" });
  expect(request.tuning).toEqual({ streams: 4, unit_bytes: 2 ** 24 });
  const address = fromAddress({ ...ofPlan(request.intent, request.probe, request.tuning), more: 1 });
  expect(requestOf({ ...USUAL, ...address })).toEqual({ request, lacks: null });
  expect(Object.keys(address ?? {})).not.toContain("more");
  expect(fromAddress("raw")).toBeUndefined();
});

it("the form takes an endpoint by its other name, offers none that is away, and says what is missing", async () => {
  const endpoints = [endpoint("krios1", { aliases: ["scope"] }), endpoint("tape", { online: false })];
  await show(<ProbeForm asked={{ source: "scope" }} endpoints={endpoints} blocked={null} open={() => undefined} close={() => undefined} />);
  expect(screen.getByRole<HTMLSelectElement>("combobox", { name: "Source" }).value).toBe("krios1");
  expect(screen.getAllByRole<HTMLOptionElement>("option", { name: "tape (away)" }).map(({ disabled }) => disabled)).toEqual([true, true]);
  const plan = () => screen.getByRole("button", { name: "Plan the probe" }).getAttribute("aria-description");
  expect(plan()).toBe("Choose the destination's endpoint.");
  fireEvent.change(screen.getByRole("combobox", { name: "Destination" }), { target: { value: "krios1" } });
  expect(plan()).toBeNull();
  fireEvent.change(screen.getByRole("textbox", { name: "Longest time of each leg, in seconds" }), { target: { value: "1000" } });
  expect(plan()).toBe("A leg takes 1 to 600 s.");
});

it("who may ask for nothing is told why", async () => {
  await show(<ProbeForm asked={undefined} endpoints={[endpoint("krios1")]} blocked="Only requesters may." open={() => undefined} close={() => undefined} />);
  expect(screen.getByRole("button", { name: "Probe a way" }).getAttribute("aria-description")).toBe("Only requesters may.");
});

const probes: Plan = {
  id: "pl_1", state: "expired", state_reason: "expired", requester: "pn_1", created: "2026-01-01T00:00:00Z", surveyed_entries: 0, danger: [], questions: [], refusals: [], notes: [], confirmed: false, approvals: [],
  summary: "", needs: [], next_step: { kind: "plan_again", by: "you", message: "It expired." }, allowed_actions: [], names_withheld: false, warnings: [], quotas: [], origins: [], ...made(whole), tuning: {},
};

it("a probe that has run is run again as a probe, and a copy as a copy", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(planQuery("pl_1").queryKey, probes);
  client.setQueryData(planQuery("pl_2").queryKey, { ...probes, probe: null });
  expect((await askedBefore(client, { plan: "pl_1" })).probe).toEqual({ max_seconds: 10, max_bytes: 4 * 2 ** 30 });
  expect((await askedBefore(client, { plan: "pl_2" })).probe).toBeNull();
});

it("a probe that is over is asked for again as a probe, never as a copy", async () => {
  await show(<RequesterActions plan={probes} stale={false} />);
  expect(screen.getByRole("link", { name: "Ask for it again" }).getAttribute("href")).toMatch(/^\/endpoints\?probe=/);
});

it("the legs are shown with their rates, what each moved, what limited it, and where the difference goes", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  const probed: Probed = {
    transfer: "tr_1", state: "complete", tightest: "way", said: "the way between the nodes is the tightest stage", evidence: [], remedy: ["a wider way"],
    legs: [
      { name: "memory_to_memory", bytes: 4_000_000_000, files: 60, seconds: 3.2, rate_bps: 10_000_000_000, error: "" },
      { name: "storage_to_memory", bytes: 0, files: 0, seconds: 0, rate_bps: null, error: "there is no file to read at the source" },
    ],
  };
  client.setQueryData(probedQuery("tr_1", true).queryKey, probed);
  await show(<ProbeCard transfer="tr_1" ended />, client);
  const rows = screen.getAllByRole("row").slice(1).map((row) => [...row.querySelectorAll("td")].map(({ textContent }) => textContent));
  expect(rows).toEqual([
    ["memory to memory", "10.0 Gb/s", "4.00 GB in 3.2 s", ""],
    ["storage to memory", "not measured", "", "there is no file to read at the source"],
  ]);
  expect(screen.getByText("The way between the nodes is the tightest stage.")).toBeTruthy();
  expect(screen.getByText(/a wider way/)).toBeTruthy();
});
