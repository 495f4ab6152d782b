/** Where each part of a plan comes from: the words, a person's typing, or an assistant or a model, whose part stands out. */

import { Alert } from "@mantine/core";
import { IconRobot } from "@tabler/icons-react";
import type { Plan, SlotOrigin } from "../api/schema";
import { visible } from "../format/text";
import { instant, useZone, type Zone } from "../format/time";
import { bytes, rate } from "../format/units";
import { t, tData } from "../i18n";
import classes from "./PlanCard.module.css";

export function Origins({ plan }: { plan: Plan }) {
  const zone = useZone();
  const given = plan.origins.filter(({ origin }) => origin !== "assumed");
  const added = given.filter(({ origin }) => origin === "assistant");
  const modelled = given.filter(({ origin }) => origin === "model");
  if (given.length === 0) return null;
  const line = ({ slot }: SlotOrigin) => {
    const value = slotValue(plan, slot, zone);
    return value === "" ? name(slot) : t("words.means", { slot: name(slot), means: value });
  };
  return (
    <>
      {added.length > 0 && (
        <Alert color="orange" icon={<IconRobot aria-hidden />} title={title(plan)}>
          <ul className={classes.added} aria-label={t("origin.added")}>
            {added.map((one) => (
              <li key={one.slot}>{line(one)}</li>
            ))}
          </ul>
        </Alert>
      )}
      {modelled.length > 0 && (
        <Alert color="orange" icon={<IconRobot aria-hidden />} title={t("origin.modelled")}>
          <ul className={classes.added} aria-label={t("origin.modelled")}>
            {modelled.map((one) => (
              <li key={one.slot}>{line(one)}</li>
            ))}
          </ul>
        </Alert>
      )}
      <details>
        <summary>{t("origin.title")}</summary>
        <ul className={classes.notes} aria-label={t("origin.title")}>
          {given.map((one) => (
            <li key={one.slot} data-origin={one.origin}>
              {line(one)}, {told(one)}
            </li>
          ))}
          <li>{t("origin.rest")}</li>
        </ul>
      </details>
    </>
  );
}

function title({ words, agent }: Plan): string {
  return t(words == null ? "origin.added.all" : "origin.added.some", { agent: visible(agent ?? "") });
}

function told({ origin, words, plan }: SlotOrigin): string {
  if (origin !== "said" && origin !== "model") return t(`origin.${origin}`);
  const quoted = words.map(({ text }) => `“${visible(text)}”`).join(", ");
  if (origin === "model") return t("origin.model", { words: quoted });
  return t(plan == null ? "origin.said" : "origin.said.earlier", { words: quoted });
}

function name(slot: string): string {
  return tData("slot", slot.replace(/_bytes$/, ""));
}

/** The value of a slot for people; empty where its name says it all. */
function slotValue({ intent }: Plan, slot: string, zone: Zone): string {
  if (intent == null) return "";
  switch (slot) {
    case "action":
      return tData("action.name", intent.action);
    case "rate_limit_bps":
      return intent.rate_limit_bps == null ? t("origin.none") : rate(intent.rate_limit_bps);
    case "min_size_bytes":
      return intent.min_size_bytes == null ? t("origin.none") : bytes(intent.min_size_bytes);
    case "max_size_bytes":
      return intent.max_size_bytes == null ? t("origin.none") : bytes(intent.max_size_bytes);
    case "modified_after":
    case "modified_before":
    case "start":
    case "deadline":
      return intent[slot] == null ? t("origin.none") : instant(intent[slot], zone);
    case "encryption":
      return t(intent.encryption ? "origin.on" : "origin.off");
    case "on_conflict":
      return intent.on_conflict == null ? t("origin.none") : tData("conflict", intent.on_conflict);
    case "verify":
      return tData("verify", intent.verify);
    case "compare":
      return tData("compare", intent.compare);
    case "window":
      return intent.window == null ? t("origin.none") : visible(intent.window.join("–"));
    case "include":
    case "exclude":
    case "preserve":
      return intent[slot].length === 0 ? t("origin.none") : visible(intent[slot].join(", "));
    case "source":
    case "destination":
    case "priority":
      return visible(intent[slot]);
    case "project":
      return intent.project == null ? t("origin.none") : visible(intent.project);
    case "repeat":
      return intent.repeat == null ? t("origin.none") : visible(intent.repeat);
    case "delete_source":
      return intent.action === "move" ? "" : t("origin.none");
    default:
      return "";
  }
}
