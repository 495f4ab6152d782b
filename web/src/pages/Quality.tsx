/** Quality of service: links with what transfers take of them, classes, calendars, and the versions of all three. */

import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { answer, api } from "../api/client";
import { meQuery } from "../api/queries";
import { t } from "../i18n";
import { Calendars } from "../quality/Calendars";
import { Classes } from "../quality/Classes";
import { Links } from "../quality/Links";
import { ProposeQos } from "../quality/ProposeQos";
import { qosQuery, qosSeriesKey, qosVersionsQuery } from "../quality/queries";
import { grown, type Taken } from "../quality/series";
import { Act, Page } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { useStaying } from "../ui/staying";
import { Publish } from "../versions/Publish";
import { History, Version } from "../versions/Versions";
import classes from "../ui/Table.module.css";

const route = getRouteApi("/app/qos");

export function Quality() {
  const { version, edit } = route.useSearch();
  const navigate = route.useNavigate();
  const staying = useStaying();
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: qos, dataUpdatedAt: readAt } = useSuspenseQuery(qosQuery);
  const { data: versions } = useSuspenseQuery(qosVersionsQuery);
  useEffect(() => {
    client.setQueryData<readonly Taken[]>(qosSeriesKey, (seen = []) => grown(seen, qos, readAt));
  }, [client, qos, readAt]);
  const active = versions.find(({ state }) => state === "active");
  const asked = versions.find((one) => one.version === version);
  const shown = asked ?? active;
  return (
    <Page
      title={t("quality.title")}
      lead={t("quality.lead")}
      actions={
        <Act blocked={whyNot(me, "policy")} onClick={() => void navigate({ search: { version: shown?.version, edit: true } })}>
          {t("policies.edit")}
        </Act>
      }
    >
      {edit === true ? (
        <ProposeQos
          key={shown?.version}
          base={shown}
          active={active}
          done={(made) => {
            if (staying()) void navigate({ search: { version: made }, ignoreBlocker: true });
          }}
          close={() => void navigate({ search: { version } })}
        />
      ) : (
        asked === undefined && (
          <>
            <Links qos={qos} />
            <Classes qos={qos} />
            <Calendars qos={qos} />
          </>
        )
      )}
      <History
        versions={versions}
        shown={shown}
        link={(one, label) => (
          <Link to="/qos" search={{ version: one }} className={classes.link}>
            {label}
          </Link>
        )}
      />
      {asked !== undefined && edit !== true && (
        <Version
          version={asked}
          active={active}
          language="toml"
          publish={
            <Publish
              key={asked.version}
              version={asked}
              send={(one, proof) => answer(api.POST("/api/v1/qos/versions/{version}/publish", { params: { path: { version: one } }, body: proof }))}
              withdraw={(one) => answer(api.POST("/api/v1/qos/versions/{version}/withdraw", { params: { path: { version: one } } }))}
              effect={t("quality.effect")}
              changes={[qosVersionsQuery.queryKey, qosQuery.queryKey]}
            />
          }
        />
      )}
      {asked !== undefined && (
        <Link to="/qos" className={classes.link}>
          {t("quality.back")}
        </Link>
      )}
    </Page>
  );
}
