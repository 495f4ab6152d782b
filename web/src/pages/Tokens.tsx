import { Badge, Group, Table } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, done } from "../api/client";
import { meQuery, tokensQuery } from "../api/queries";
import type { Token } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { MakeToken } from "../people/MakeToken";
import { Reasoned } from "../transfers/Reasoned";
import { Listing } from "../ui/Listing";
import { Act, Empty, Page, Time } from "../ui/basics";
import { tell } from "../ui/toasts";
import classes from "../ui/Table.module.css";

export function Tokens() {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: tokens } = useSuspenseQuery(tokensQuery);
  const client = useQueryClient();
  const [ending, setEnding] = useState<Token | null>(null);
  const revoke = useMutation({
    mutationFn: (token: string) => done(api.DELETE("/api/v1/tokens/{token}", { params: { path: { token } } })),
    onSuccess: async () => {
      tell(t("tokens.revoked"));
      setEnding(null);
      await client.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
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
                <Act color="red" variant="outline" size="compact-xs" onClick={() => setEnding(token)}>
                  {t("tokens.revoke")}
                </Act>
              </Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
      {ending !== null && (
        <Reasoned
          title={t("tokens.revoke.one", { name: visible(ending.name) })}
          detail={t("tokens.revoke.detail")}
          verb={t("tokens.revoke")}
          reason="none"
          pending={revoke.isPending}
          error={revoke.error}
          close={() => setEnding(null)}
          go={() => revoke.mutate(ending.id)}
        />
      )}
    </Page>
  );
}
