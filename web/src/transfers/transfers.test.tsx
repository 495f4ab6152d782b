import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { AllowedAction, Progress, Transfer } from "../api/schema";
import { arrival } from "./Arrived";
import { Controls } from "./Controls";

const progress: Progress = {
  files_total: 2, files_done: 1, files_failed: 0, bytes_total: 100, bytes_received: 0, bytes_durable: 100, bytes_failed: 0,
  resent_bytes: 0, rate_bps: 0, streams: 0, limiter: "", eta_s: null, at: null,
};

describe("what has arrived", () => {
  it.each([
    ["complete", {}, 100, 0],
    ["complete", { bytes_total: 0, bytes_durable: 0 }, 100, 0],
    ["partial", { files_failed: 1 }, 99, 0],
    ["partial", { files_failed: 1, bytes_durable: 100, bytes_failed: 300 }, 25, 75],
    ["partial", { files_failed: 1, bytes_durable: 1_000_000, bytes_total: 1_000_001, bytes_failed: 1 }, 99, 1],
    ["failed", {}, 99, 0],
    ["running", { bytes_durable: 50 }, 50, 0],
  ] as const)("of a %s transfer with %o is %i percent, and %i failed", (state, part, safe, failed) =>
    expect(arrival({ state, progress: { ...progress, ...part } })).toMatchObject({ safe, failed }));
});

const ACTIONS = ["pause", "resume", "cancel", "retry", "set_rate", "run_again"] as const;

it("controls are offered as the service allows them, each refusal with its reason", () => {
  const allowed_actions: AllowedAction[] = ACTIONS.map((action) => ({ action, allowed: action === "retry", reason: action === "retry" ? "" : `no ${action} now` }));
  const transfer: Transfer = {
    id: "tr_1", plan: "pl_1", plan_digest: "0".repeat(64), state: "failed", state_reason: "", requester: "pn_1", action: "copy", source: "a:/x", destination: "b:/y",
    canonical_sentence: "", created: "2026-01-01T00:00:00Z", attempt: 1, progress, summary: "", wish: "run", allowed_actions,
    next_step: { kind: "retry", by: "you", message: "" }, names_withheld: false,
  };
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <Controls transfer={transfer} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const why = (name: string) => screen.getByRole("button", { name }).getAttribute("aria-description");
  expect([why("Pause"), why("Resume"), why("Change the rate"), why("Cancel"), why("Try again")]).toEqual(["no pause now", "no resume now", "no set_rate now", "no cancel now", null]);
});
