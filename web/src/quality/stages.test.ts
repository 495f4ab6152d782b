import { describe, expect, it } from "vitest";
import type { MeasuredSide, Stage } from "../api/schema";
import { tightest } from "./stages";

function side(...stages: [Stage["name"], number][]): MeasuredSide {
  return { node: "", threads: 1, flows: [], stages: stages.map(([name, busy_percent]) => ({ name, busy_percent, threads: 1, capacity_bps: null })) };
}

describe("the tightest stage", () => {
  it("is the busiest that does not wait for others", () => {
    expect(tightest({ source: side(["read", 5], ["send", 95]), destination: side(["receive", 30], ["write", 70]) })).toMatchObject({ side: "destination", name: "write" });
    expect(tightest({ source: side(["read", 80], ["send", 20]), destination: side(["receive", 99], ["write", 1]) })).toMatchObject({ side: "source", name: "read" });
  });

  it("is one that waits, where no other is busy", () => {
    expect(tightest({ source: side(["read", 10], ["send", 90]), destination: side(["receive", 60], ["write", 40]) })).toMatchObject({ side: "source", name: "send" });
    expect(tightest({ source: side(), destination: side() })).toBeNull();
  });
});
