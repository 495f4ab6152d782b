import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { openTransfersQuery } from "../api/queries";
import type { Me, Transfer } from "../api/schema";
import { Toasts } from "../ui/toasts";
import { Endings } from "./Endings";

const me: Me = { id: "pn_1", name: "ada", roles: ["requester"], scopes: [], session: true, groups: [], factors: ["pwd"], method: "password" };

function open(id: string, told: Transfer["deadline_told"], requester = "pn_1"): Transfer {
  return {
    id, plan: "pl_1", plan_digest: "0".repeat(64), state: "running", state_reason: "", requester, action: "copy", source: `a:/${id}`, destination: "b:/y",
    canonical_sentence: "", created: "2026-01-01T00:00:00Z", attempt: 1, summary: "", wish: "run", allowed_actions: [],
    progress: {
      files_total: 2, files_done: 1, files_failed: 0, files_failed_for_good: 0, files_identical: 0, bytes_total: 100, bytes_received: 0, bytes_durable: 100, bytes_failed: 0,
      resent_bytes: 0, sources_kept: 0, deletes_total: 0, deleted: 0, sources_deleted: 0, deleted_to_trash: false, rate_bps: 0, streams: 0, limiter: "", eta_s: null, eta_low_s: null, eta_high_s: null, at: null,
    },
    next_step: { kind: "wait", by: "service", message: "" }, names_withheld: false, deadline_at_risk: false, qos_class: "bulk", deadline_note: "", deadline_told: told, probe: false, tuning: {},
  };
}

it("a deadline that becomes at risk or is missed is told to its requester, once, on whichever page they are", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  const found = (...transfers: Transfer[]) => act(() => void client.setQueryData(openTransfersQuery.queryKey, transfers));
  const told = () => screen.queryAllByText(/Its deadline/).map(({ textContent }) => textContent);
  found(open("one", ""), open("two", "at_risk"), open("three", ""));
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <Endings me={me} />
        <Toasts />
      </QueryClientProvider>
    </MantineProvider>,
  );
  expect(told()).toEqual([]);
  found(open("one", "at_risk"), open("two", "at_risk"), open("three", "at_risk", "pn_2"));
  await waitFor(() => expect(told()).toEqual(["Its deadline is at risk: a:/one → b:/y"]));
  found(open("one", "at_risk"), open("two", "missed"), open("three", "missed", "pn_2"));
  await waitFor(() => expect(told()).toEqual(["Its deadline is at risk: a:/one → b:/y", "Its deadline has passed: a:/two → b:/y"]));
});
