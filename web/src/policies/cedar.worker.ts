/** Cedar in a worker: checks a policy text against the schema without holding up the page. The service's word counts; this one is only faster. */

import init, { checkParsePolicySet, policySetTextToParts, validate, type DetailedError } from "@cedar-policy/cedar-wasm/web";
import schema from "../../../guardrails/src/headrace/guardrails/data/schema.cedarschema?raw";
import { lineMarks, type Finding } from "./findings";

const ready = init();

self.onmessage = ({ data }: MessageEvent<{ id: number; text: string }>) => {
  void ready.then(() => {
    self.postMessage({ id: data.id, findings: findings(data.text) });
  });
};

function findings(text: string): Finding[] {
  const marks = lineMarks(text);
  const finding = (severity: Finding["severity"], rule: string | null, { message, sourceLocations }: DetailedError): Finding => {
    const place = sourceLocations?.[0];
    const whole = rule === null ? null : marks.rule(rule);
    return {
      severity,
      rule,
      message,
      from: place === undefined ? (whole?.from ?? 0) : marks.offset(place.start),
      to: place === undefined ? (whole?.to ?? text.length) : marks.offset(place.end),
    };
  };
  const parsed = checkParsePolicySet({ staticPolicies: text });
  if (parsed.type === "failure") return parsed.errors.map((error) => finding("error", null, error));
  const parts = policySetTextToParts(text);
  if (parts.type === "failure") return parts.errors.map((error) => finding("error", null, error));
  const checked = validate({ schema, policies: { staticPolicies: text }, validationSettings: { mode: "strict" } });
  if (checked.type === "failure") return checked.errors.map((error) => finding("error", null, error));
  const named = (id: string) => marks.ruleName(id);
  return [
    ...checked.validationErrors.map(({ policyId, error }) => finding("error", named(policyId), error)),
    ...checked.validationWarnings.map(({ policyId, error }) => finding("warning", named(policyId), error)),
  ];
}
