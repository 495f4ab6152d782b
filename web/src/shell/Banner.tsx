/** Says that the service does not answer, how old what is shown is, and comes back by itself. */

import { useQuery } from "@tanstack/react-query";
import { IconAlertTriangle, IconCloudOff, IconHandStop } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { healthQuery } from "../api/queries";
import { useConnection } from "../api/connection";
import { clock, duration, instant, useZone } from "../format/time";
import { visible } from "../format/text";
import { t, tn } from "../i18n";
import type { HealthCause } from "../api/schema";
import classes from "./Banner.module.css";

const SHOWN = 3;

export function Banner() {
  const { lostAt, heardAt } = useConnection();
  const away = lostAt !== null;
  const health = useQuery({ ...healthQuery, refetchInterval: away ? 1500 : 15_000, retry: false });
  if (away) return <Away heardAt={heardAt} />;
  const halted = health.data?.halted ?? "";
  if (halted !== "") {
    return (
      <div className={classes.banner} role="alert">
        <IconHandStop size={18} aria-hidden />
        <span>{visible(t("banner.halted", { reason: halted }))}</span>
      </div>
    );
  }
  const causes = health.data?.causes ?? [];
  if (health.data?.status === "degraded" && causes.length > 0) return <Degraded causes={causes} />;
  if (health.data?.audit === "unwritable") {
    return (
      <div className={classes.banner} role="alert">
        {t("banner.audit")}
      </div>
    );
  }
  return null;
}

/** What is wrong, to those whom the service tells it. */
function Degraded({ causes }: { causes: readonly HealthCause[] }) {
  const zone = useZone();
  const since = causes.map((cause) => cause.since ?? "").filter((at) => at !== "").sort()[0];
  return (
    <div className={classes.banner} role="alert">
      <IconAlertTriangle size={18} aria-hidden />
      <div>
        {since === undefined ? t("banner.degradedNow") : t("banner.degraded", { at: instant(since, zone) })}
        <ul className={classes.causes}>
          {causes.slice(0, SHOWN).map((cause) => (
            <li key={`${cause.code} ${cause.sentence}`}>{visible(t("banner.cause", { sentence: cause.sentence, todo: cause.what_to_do }))}</li>
          ))}
        </ul>
        {causes.length > SHOWN && tn("count.causes", causes.length - SHOWN)}
      </div>
    </div>
  );
}

function Away({ heardAt }: { heardAt: number }) {
  const zone = useZone();
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <div className={classes.banner} role="alert">
      <IconCloudOff size={18} aria-hidden />
      <span>
        {t("banner.away", { age: duration(Math.max(1, Math.round((now - heardAt) / 1000))), at: clock(heardAt, zone) })}
      </span>
    </div>
  );
}
