import { Text } from "@mantine/core";
import type { ApprovalView, Decision } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Time } from "../ui/basics";
import { Prose } from "../ui/Prose";
import classes from "./PlanCard.module.css";

/** What policy says and why, rule by rule, and who has said yes or no so far. */
export function DecisionDetail({ decision, approvals }: { decision: Decision; approvals: readonly ApprovalView[] }) {
  const given = approvals.filter(({ verdict }) => verdict === "approved").length;
  return (
    <div className={classes.decision}>
      <Text><Prose>{decision.why}</Prose></Text>
      {decision.rules.length > 0 && (
        <details>
          <summary>{t("decision.rules", { version: decision.policy_version.slice(0, 12), qos: decision.qos_class })}</summary>
          <ul className={classes.rules}>
            {decision.rules.map(({ id, reason }) => (
              <li key={id}>
                <code>{visible(id)}</code>: {visible(reason)}
              </li>
            ))}
          </ul>
        </details>
      )}
      {decision.approvals_needed > 0 && (
        <Text fw={600}>
          {t("decision.approvals", { given, needed: decision.approvals_needed, groups: decision.approver_groups.map(visible).join(", ") })}
        </Text>
      )}
      {approvals.length > 0 && (
        <ul className={classes.rules}>
          {approvals.map(({ person, verdict, reason, at }) => (
            <li key={`${person}-${at}`}>
              {t(verdict === "approved" ? "decision.approvedBy" : "decision.refusedBy", { person: visible(person) })} <Time value={at} />
              {reason !== "" && <>: {visible(reason)}</>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
