import { expect, it } from "vitest";
import { examplesOf, withExample } from "./examples";

const TEXT = `permit (principal, action, resource);
// Examples are run whenever this text is checked.
// example allowed {"action": "copy", "facts": {"files": 20000}}
  // example denied  {"roles": [], "destination": "archive:/x"}
// example maybe {"action": "copy"}
// example denied {broken`;

it("examples are read with what differs from a plain copy; others are left to the service", () => {
  expect(examplesOf(TEXT)).toEqual([
    { outcome: "allowed", action: "copy", differs: [["files", "20000"]], line: 3 },
    { outcome: "denied", action: "copy", differs: [["roles", "none"], ["destination", "archive:/x"]], line: 4 },
  ]);
});

it("an added example is read back as it was meant", () => {
  const longer = withExample("permit (principal, action, resource);\n\n", "approve", { action: "move", roles: ["viewer"] });
  expect(longer.endsWith("\n")).toBe(true);
  expect(examplesOf(longer)).toEqual([{ outcome: "approve", action: "move", differs: [["roles", "viewer"]], line: 2 }]);
});
