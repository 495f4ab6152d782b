import { infiniteQueryOptions, useInfiniteQuery, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { peopleQuery, tokensQuery } from "../api/people-queries";
import { meQuery, PAGE } from "../api/queries";
import { visible } from "../format/text";
import { t } from "../i18n";
import { MakeToken } from "../people/MakeToken";
import { TokenRows } from "../people/TokenRows";
import { Empty, Failure, Page, Stack } from "../ui/basics";
import { More } from "../ui/More";
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

/** Everybody's, the oldest first. */
const pagesQuery = infiniteQueryOptions({
  queryKey: ["tokens", "everybody's", "pages"],
  queryFn: ({ signal, pageParam }) =>
    answer(api.GET("/api/v1/tokens", { params: { query: { everybody: true, limit: PAGE, after: pageParam || undefined } }, signal })),
  initialPageParam: "",
  getNextPageParam: (page) => page.next ?? undefined,
});

/** The tokens of all others, which an administrator revokes. */
function Everybodys({ mine }: { mine: string }) {
  const tokens = useInfiniteQuery(pagesQuery);
  const people = useQuery(peopleQuery);
  if (tokens.isError) return <Failure error={tokens.error} />;
  const names = new Map(people.data?.map(({ id, name }) => [id, visible(name)]));
  const others = tokens.data?.pages.flatMap((page) => page.items).filter(({ person }) => person !== mine) ?? [];
  return (
    <>
      <TokenRows title={t("tokens.others")} tokens={others} ownerOf={({ person }) => names.get(person ?? "") ?? visible(person ?? "")} />
      <More list={tokens} of={t("tokens.others")} />
    </>
  );
}
