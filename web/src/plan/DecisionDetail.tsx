import { Text } from "@mantine/core";
import type { ApprovalView, Decision, Need } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Time } from "../ui/basics";
import { Prose } from "../ui/Prose";
import classes from "./PlanCard.module.css";

/** What policy says and why, rule by rule, and who has said yes or no so far. */
export function DecisionDetail({ decision, needs, approvals }: { decision: Decision; needs: readonly Need[]; approvals: readonly ApprovalView[] }) {
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
      {decision.alternatives.length > 0 && (
        <ul className={classes.rules} aria-label={t("decision.alternatives")}>
          {decision.alternatives.map(({ words, outcome }) => (
            <li key={words}>
              <strong>{t(`decision.${outcome}`)}</strong>, {visible(words)}
            </li>
          ))}
        </ul>
      )}
      {needs.length > 0 && (
        <ul className={classes.rules} aria-label={t("needs.title")}>
          {needs.map((need) => (
            <li key={need.kind + need.by}>
              <strong>{t(`needs.${need.kind}`, { by: visible(need.by) })}</strong> {t("needs.given", { given: need.given, count: need.count })}
              {need.proof !== "session" && <>, {t(`needs.proof.${need.proof}`)}</>}
              {need.until != null && (
                <>
                  , {t("needs.until")} <Time value={need.until} />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {approvals.length > 0 && (
        <ul className={classes.rules}>
          {approvals.map(({ person, verdict, reason, at, expires }) => (
            <li key={`${person}-${at}`}>
              {t(verdict === "approved" ? "decision.approvedBy" : "decision.refusedBy", { person: visible(person) })} <Time value={at} />
              {reason !== "" && <>: {visible(reason)}</>}
              {verdict === "approved" && (
                <>
                  {" "}
                  ({t("needs.until")} <Time value={expires} />)
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
