import { Badge, Group, Table } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { api, done } from "../api/client";
import { meQuery, tokensQuery } from "../api/queries";
import type { Token } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { MakeToken } from "../people/MakeToken";
import { Reasoned } from "../transfers/Reasoned";
import { Listing } from "../ui/Listing";
import { useAsked } from "../ui/asked";
import { Act, Empty, Page, Time } from "../ui/basics";
import classes from "../ui/Table.module.css";

export function Tokens() {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: tokens } = useSuspenseQuery(tokensQuery);
  const ending = useAsked({
    act: ({ id }: Token) => done(api.DELETE("/api/v1/tokens/{token}", { params: { path: { token: id } } })),
    told: () => t("tokens.revoked"),
    changes: [tokensQuery.queryKey],
  });
  return (
    <Page title={t("nav.tokens")} lead={t("tokens.lead")} actions={<MakeToken me={me} />}>
      {tokens.length === 0 ? (
        <Empty title={t("tokens.empty")}>{t("tokens.empty.detail")}</Empty>
      ) : (
        <Listing label={t("nav.tokens")} heads={[t("tokens.name"), t("tokens.scopes"), t("tokens.expires"), t("tokens.used"), t("nodes.actions")]}>
          {tokens.map((token) => (
            <Table.Tr key={token.id}>
              <Table.Td>
                <strong>{visible(token.name)}</strong>
                {token.agent != null && <div className={classes.second}>{t("transfers.through", { agent: visible(token.agent) })}</div>}
              </Table.Td>
              <Table.Td>
                <Group gap={4}>
                  {token.scopes.map((scope) => (
                    <Badge key={scope} color="gray">
                      {scope}
                    </Badge>
                  ))}
                </Group>
              </Table.Td>
              <Table.Td>
                <Time value={token.expires} />
              </Table.Td>
              <Table.Td>
                <Time value={token.last_used} />
              </Table.Td>
              <Table.Td>
                <Act color="red" variant="outline" size="compact-xs" onClick={() => ending.ask(token)}>
                  {t("tokens.revoke")}
                </Act>
              </Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
      {ending.one !== null && (
        <Reasoned
          title={t("tokens.revoke.one", { name: visible(ending.one.name) })}
          detail={t("tokens.revoke.detail")}
          verb={t("tokens.revoke")}
          reason="none"
          {...ending.dialog}
        />
      )}
    </Page>
  );
}
