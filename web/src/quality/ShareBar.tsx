/** What a transfer takes of a link, and what it is entitled to, along what the link carries. */

import { rate } from "../format/units";
import { t } from "../i18n";
import classes from "./quality.module.css";

interface Props {
  takes: number;
  entitled: number | null;
  /** What the whole bar stands for. */
  most: number;
  hue: string;
}

export function ShareBar({ takes, entitled, most, hue }: Props) {
  const label =
    entitled === null ? t("quality.bar.free", { takes: rate(takes) }) : t("quality.bar", { takes: rate(takes), entitled: rate(entitled) });
  return (
    <div className={classes.bar} role="img" aria-label={label}>
      <div className={classes.takes} style={{ inlineSize: part(takes, most), background: hue }} />
      {entitled !== null && <div className={classes.entitled} style={{ insetInlineStart: part(entitled, most) }} />}
    </div>
  );
}

/** How to read the bars. */
export function ShareKey() {
  return (
    <div className={classes.key} aria-hidden>
      <span>
        <span className={classes.swatch} style={{ background: "var(--mantine-color-dimmed)" }} />
        {t("quality.key.takes")}
      </span>
      <span>
        <span className={classes.mark} />
        {t("quality.key.entitled")}
      </span>
    </div>
  );
}

function part(value: number, most: number): string {
  return `${(Math.min(1, value / Math.max(most, 1)) * 100).toFixed(2)}%`;
}
