import { afterEach, expect, test, vi } from "vitest";
import { everyToken } from "./everything";

afterEach(() => {
  vi.unstubAllGlobals();
});

test.each([true, false])("tokens are read to the end of their list, everybody's: %s", async (isOfAll) => {
  const asked: string[] = [];
  const pages = [{ items: [{ id: "one" }], next: "here" }, { items: [{ id: "two" }], next: null }];
  vi.stubGlobal("fetch", (request: Request) => {
    asked.push(new URL(request.url).search);
    return Promise.resolve(Response.json(pages[asked.length - 1]));
  });
  const found = await everyToken(new AbortController().signal, isOfAll);
  expect(found.map(({ id }) => id)).toEqual(["one", "two"]);
  expect(asked).toEqual([`?everybody=${isOfAll}&limit=1000`, `?everybody=${isOfAll}&limit=1000&after=here`]);
});
