import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { allTokensQuery, meQuery, peopleQuery, tokensQuery } from "../api/queries";
import { visible } from "../format/text";
import { t } from "../i18n";
import { MakeToken } from "../people/MakeToken";
import { TokenRows } from "../people/TokenRows";
import { Empty, Failure, Page, Stack } from "../ui/basics";
import { whyNot } from "../ui/permissions";

export function Tokens() {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: tokens } = useSuspenseQuery(tokensQuery);
  return (
    <Page title={t("nav.tokens")} lead={t("tokens.lead")} actions={<MakeToken me={me} />}>
      <Stack>
        {tokens.length === 0 ? <Empty title={t("tokens.empty")}>{t("tokens.empty.detail")}</Empty> : <TokenRows title={t("tokens.mine")} tokens={tokens} />}
        {whyNot(me, "people") === null && <Everybodys mine={me.id} />}
      </Stack>
    </Page>
  );
}

/** The tokens of all others, which an administrator revokes. */
function Everybodys({ mine }: { mine: string }) {
  const tokens = useQuery(allTokensQuery);
  const people = useQuery(peopleQuery);
  if (tokens.isError) return <Failure error={tokens.error} />;
  const names = new Map(people.data?.map(({ id, name }) => [id, visible(name)]));
  const others = tokens.data?.filter(({ person }) => person !== mine) ?? [];
  return <TokenRows title={t("tokens.others")} tokens={others} ownerOf={({ person }) => names.get(person ?? "") ?? visible(person ?? "")} />;
}
