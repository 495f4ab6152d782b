import { MantineProvider } from "@mantine/core";
import { render, screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Plan, SlotOrigin } from "../api/schema";
import { Origins } from "./Origins";

const said = (slot: string, text: string, plan: string | null = null): SlotOrigin => ({ slot, origin: "said", words: [{ start: 0, end: text.length, text }], plan });
const other = (slot: string, origin: SlotOrigin["origin"]): SlotOrigin => ({ slot, origin, words: [] });

const intent: Plan["intent"] = {
  action: "move", source: "krios1:/raw/42", destination: "archive:/42", include: [], exclude: ["*.tmp"], rate_limit_bps: 2_000_000_000,
  priority: "normal", encryption: true, verify: "default", compare: "size-mtime", delete_extraneous: false, preserve: [],
};

function show(origins: SlotOrigin[], more: Partial<Plan> = {}) {
  const plan: Plan = {
    id: "pl_1", state: "ready", state_reason: "", requester: "pn_1", created: "2026-01-01T00:00:00Z", surveyed_entries: 0, danger: [], questions: [], refusals: [],
    notes: [], confirmed: false, approvals: [], summary: "", needs: [], next_step: { kind: "submit", by: "you", message: "" }, allowed_actions: [],
    names_withheld: false, warnings: [], quotas: [], tuning: {}, words: "copy it", agent: "claude", intent, origins, ...more,
  };
  render(<MantineProvider env="test"><Origins plan={plan} /></MantineProvider>);
}

const lines = (name: string) => within(screen.getByRole("list", { name, hidden: true })).getAllByRole("listitem", { hidden: true }).map((item) => item.textContent);

it("each part of a plan says where it comes from", () => {
  show([said("source", "from krios1:/raw/42"), said("exclude", "skip *.tmp", "pl_0"), other("destination", "typed"), other("verify", "assumed")], { agent: null });
  expect(lines("Where each part comes from")).toEqual([
    "from: krios1:/raw/42, from the words “from krios1:/raw/42”",
    "leave out: *.tmp, from the words of an earlier plan, “skip *.tmp”",
    "to: archive:/42, typed",
    "Everything else is Headrace's default.",
  ]);
  expect(screen.queryByRole("alert")).toBeNull();
});

it("what an assistant added stands out, with its value", () => {
  show([said("source", "from krios1:/raw/42"), other("rate_limit_bps", "assistant"), other("delete_source", "assistant")]);
  const alert = screen.getByRole("alert", { name: "Added by the assistant claude, not in the words" });
  expect(within(alert).getAllByRole("listitem").map((item) => item.textContent)).toEqual(["no faster than: 2.00 Gb/s", "delete the source"]);
});

it("what rests on a language model stands out, with the words that carry it", () => {
  show([{ ...said("action", "move"), origin: "model" }, said("source", "from krios1:/raw/42")], { agent: null });
  const alert = screen.getByRole("alert", { name: "Holds if a language model is right that the words it left out are background" });
  expect(within(alert).getAllByRole("listitem").map((item) => item.textContent)).toEqual(["action: Move"]);
  expect(lines("Where each part comes from")[0]).toBe("action: Move, from the words “move”, if a language model is right that others are background");
});

it("a plan that an assistant made without words says so", () => {
  show([other("source", "assistant")], { words: null });
  expect(screen.getByRole("alert").textContent).toContain("The assistant claude chose this, without words of the person");
});

it("a plan of an earlier version, which does not say it, shows nothing", () => {
  show([]);
  expect(screen.queryByRole("list", { hidden: true })).toBeNull();
});
