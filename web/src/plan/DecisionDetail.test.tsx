import { MantineProvider } from "@mantine/core";
import { render, screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Decision } from "../api/schema";
import { DecisionDetail } from "./DecisionDetail";

const decision: Decision = {
  outcome: "denied",
  rules: [],
  approvals_needed: 0,
  approver_groups: [],
  policy_version: "0".repeat(64),
  why: "Denied: patient data stays.",
  qos_class: "bulk",
  obligations: [],
  facts: [],
  alternatives: [],
};

const show = (alternatives: Decision["alternatives"]) =>
  render(
    <MantineProvider env="test">
      <DecisionDetail decision={{ ...decision, alternatives }} needs={[]} approvals={[]} />
    </MantineProvider>,
  );

it("a denied plan says what policy would say of another request", () => {
  show([
    { words: "without `phi`", outcome: "allowed" },
    { words: "with at most 5 GB", outcome: "approve" },
  ]);
  const list = screen.getByRole("list", { name: "What policy would say of another request" });
  expect(within(list).getAllByRole("listitem").map((item) => item.textContent)).toEqual([
    "Allowed, without `phi`",
    "Needs approval, with at most 5 GB",
  ]);
});

it("nothing is offered where nothing milder was found", () => {
  show([]);
  expect(screen.queryByRole("list")).toBeNull();
});
