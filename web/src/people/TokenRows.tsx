import { Badge, Group } from "@mantine/core";
import { api, done } from "../api/client";
import { tokensQuery } from "../api/people-queries";
import type { Token } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Endable } from "../ui/Endable";
import { Time } from "../ui/basics";
import classes from "../ui/Table.module.css";

/** API tokens, with whose they are where `ownerOf` says it. */
export function TokenRows({ title, tokens, ownerOf }: { title: string; tokens: Token[]; ownerOf?: (token: Token) => string }) {
  return (
    <Endable
      title={title}
      rows={tokens}
      idOf={({ id }) => id}
      columns={[
        [
          t("tokens.name"),
          (one) => (
            <>
              <strong>{visible(one.name)}</strong>
              {one.agent != null && <div className={classes.second}>{t("transfers.through", { agent: visible(one.agent) })}</div>}
            </>
          ),
        ],
        ...(ownerOf === undefined ? [] : [[t("tokens.owner"), (one: Token) => ownerOf(one)] as const]),
        [
          t("tokens.scopes"),
          (one) => (
            <Group gap={4}>
              {one.scopes.map((scope) => (
                <Badge key={scope} color="gray">
                  {scope}
                </Badge>
              ))}
            </Group>
          ),
        ],
        [t("tokens.expires"), (one) => <Time value={one.expires} />],
        [t("tokens.used"), (one) => <Time value={one.last_used} />],
      ]}
      words={{
        verb: t("tokens.revoke"),
        ask: ([one]) => t("tokens.revoke.one", { name: visible(one?.name ?? "") }),
        detail: t("tokens.revoke.detail"),
        told: t("tokens.revoked"),
      }}
      end={({ id }) => done(api.DELETE("/api/v1/tokens/{token}", { params: { path: { token: id } } }))}
      changes={[tokensQuery.queryKey]}
      empty={t("tokens.empty")}
    />
  );
}
