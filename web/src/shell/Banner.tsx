/** Says that the service does not answer, how old what is shown is, and comes back by itself. */

import { useQuery } from "@tanstack/react-query";
import { IconCloudOff } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { healthQuery } from "../api/queries";
import { useConnection } from "../api/connection";
import { clock, duration, useZone } from "../format/time";
import { t } from "../i18n";
import classes from "./Banner.module.css";

export function Banner() {
  const { lostAt, heardAt } = useConnection();
  const away = lostAt !== null;
  const health = useQuery({ ...healthQuery, refetchInterval: away ? 1500 : 15_000, retry: false });
  if (away) return <Away heardAt={heardAt} />;
  if (health.data?.audit === "unwritable") {
    return (
      <div className={classes.banner} role="alert">
        {t("banner.audit")}
      </div>
    );
  }
  return null;
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
