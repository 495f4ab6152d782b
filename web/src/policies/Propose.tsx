/** A new policy text: linted while it is typed, checked by the service with its examples, then proposed for somebody else to publish. */

import { Alert } from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { answer, api } from "../api/client";
import { policiesQuery } from "../api/queries";
import type { PolicyCheck, PolicyVersion } from "../api/schema";
import { visible } from "../format/text";
import { t, tn } from "../i18n";
import { Draft } from "../versions/Draft";
import { Examples } from "./Examples";
import { Guide } from "./Guide";

interface Props {
  /** The version whose text is changed; none on a site without any. */
  base: PolicyVersion | undefined;
  active: PolicyVersion | undefined;
  done: (version: string) => void;
  close: () => void;
}

export function Propose(props: Props) {
  return (
    <Draft
      {...props}
      editor={{ label: t("policies.editor"), language: "cedar" }}
      check={(text, note) => answer(api.POST("/api/v1/policies/check", { body: { text, note } }))}
      checked={(check, text) => <Checked check={check} text={text} />}
      beside={(text, check, edit) => (
        <>
          <Guide text={text} add={edit} />
          <Examples text={text} broken={brokenLines(check, text)} add={edit} />
        </>
      )}
      propose={(text, note) => answer(api.POST("/api/v1/policies", { body: { text, note } }))}
      changes={policiesQuery.queryKey}
    />
  );
}

function Checked({ check, text }: { check: PolicyCheck; text: string }) {
  const problems = check.problems.map(({ message, rule, start }) => ({
    message: visible(message),
    rule: rule ?? null,
    line: start == null ? null : lineOf(text, start),
  }));
  return (
    <Alert
      role="status"
      color={check.valid ? "green" : "red"}
      icon={check.valid ? <IconCheck aria-hidden /> : <IconAlertTriangle aria-hidden />}
      title={check.valid ? t("policies.valid", { rules: tn("count.rules", check.rules.length) }) : t("policies.invalid")}
    >
      <ul>
        {problems.map(({ message, rule, line }) => (
          <li key={`${message}${rule ?? ""}`}>
            {rule !== null && <strong>{visible(rule)}: </strong>}
            {line !== null && <>{t("policies.line", { line })} </>}
            {message}
          </li>
        ))}
      </ul>
    </Alert>
  );
}

/** The service counts code points. */
function lineOf(text: string, start: number): number {
  return Array.from(text).slice(0, start).join("").split("\n").length;
}

function brokenLines(check: PolicyCheck | undefined, text: string): ReadonlySet<number> {
  return new Set(check?.problems.flatMap(({ start }) => (start == null ? [] : [lineOf(text, start)])));
}
