/** The site's policy: its versions, what changed, a new text, and which is in force. */

import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { meQuery, policiesQuery } from "../api/queries";
import { t } from "../i18n";
import { Examples } from "../policies/Examples";
import { Propose } from "../policies/Propose";
import { Act, Empty, Page } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { useStaying } from "../ui/staying";
import { Publish } from "../versions/Publish";
import { History, Version } from "../versions/Versions";
import classes from "../ui/Table.module.css";

const route = getRouteApi("/app/policies");

export function Policies() {
  const { version, edit } = route.useSearch();
  const navigate = route.useNavigate();
  const staying = useStaying();
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: versions } = useSuspenseQuery(policiesQuery);
  const active = versions.find(({ state }) => state === "active");
  const shown = versions.find((one) => one.version === version) ?? active ?? versions[0];
  return (
    <Page
      title={t("nav.policies")}
      lead={t("policies.lead")}
      actions={
        <Act blocked={whyNot(me, "policy")} onClick={() => void navigate({ search: { version: shown?.version, edit: true } })}>
          {t("policies.edit")}
        </Act>
      }
    >
      {edit === true && (
        <Propose
          key={shown?.version}
          base={shown}
          active={active}
          done={(made) => {
            if (staying()) void navigate({ search: { version: made }, ignoreBlocker: true });
          }}
          close={() => void navigate({ search: { version } })}
        />
      )}
      {versions.length === 0 ? (
        <Empty title={t("policies.empty")}>{t("policies.empty.detail")}</Empty>
      ) : (
        <History
          versions={versions}
          shown={shown}
          link={(one, label) => (
            <Link to="/policies" search={{ version: one }} className={classes.link}>
              {label}
            </Link>
          )}
        />
      )}
      {shown !== undefined && edit !== true && (
        <Version
          version={shown}
          active={active}
          language="cedar"
          publish={
            <Publish
              key={shown.version}
              version={shown}
              send={(one, proof) => answer(api.POST("/api/v1/policies/{version}/publish", { params: { path: { version: one } }, body: proof }))}
              withdraw={(one) => answer(api.POST("/api/v1/policies/{version}/withdraw", { params: { path: { version: one } } }))}
              effect={t("policies.effect")}
              changes={[policiesQuery.queryKey]}
            />
          }
        >
          <details>
            <summary>{t("examples.title")}</summary>
            <Examples text={shown.text} />
          </details>
        </Version>
      )}
    </Page>
  );
}
