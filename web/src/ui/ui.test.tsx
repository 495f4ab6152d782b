import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { expect, it, vi } from "vitest";
import type { ListFilter } from "../api/queries";
import { ApiError, inWords, toProblem, Unreachable } from "../api/problem";
import type { Me, Person } from "../api/schema";
import { Act, Copyable, Failure, Name } from "./basics";
import { Filters } from "./Filters";
import { toldApart, who } from "./who";
import { whyNot } from "./permissions";
import { useProof } from "./proof";

const show = (node: ReactNode) => render(<MantineProvider env="test">{node}</MantineProvider>);

it("what can't be used now says why, stays in the tab order and does nothing", async () => {
  const acted = vi.fn();
  show(
    <Act blocked="Only requesters may." onClick={acted}>
      Start
    </Act>,
  );
  const button = screen.getByRole("button", { name: "Start" });
  expect(button.getAttribute("aria-description")).toBe("Only requesters may.");
  expect(button.getAttribute("aria-disabled")).toBe("true");
  await userEvent.tab();
  expect(document.activeElement).toBe(button);
  await userEvent.keyboard("{Enter}");
  await userEvent.click(button);
  expect(acted).not.toHaveBeenCalled();
});

it("words that rested and a day, given before the page knows of the other, take nothing from each other", async () => {
  let address: ListFilter = {};
  // As a page that is drawn again later: `filter` stays what it was.
  show(<Filters filter={{}} placeholder="words" go={(changed) => (address = { ...address, ...changed })} />);
  fireEvent.change(screen.getByLabelText("Find"), { target: { value: "run42" } });
  fireEvent.change(screen.getByLabelText("Until"), { target: { value: "2020-01-31" } });
  fireEvent.change(screen.getByLabelText("From"), { target: { value: "2020-01-01" } });
  await vi.waitFor(() => expect(address).toEqual({ find: "run42", since: "2020-01-01", until: "2020-01-31" }));
});

it("a name from storage is text, never markup", () => {
  show(<Name>{'<img src=x onerror="alert(1)">\u202Egpj'}</Name>);
  expect(document.querySelector("img")).toBeNull();
  expect(screen.getByText('<img src=x onerror="alert(1)">\\u{202E}gpj')).toBeTruthy();
});

it("what the service sets in backticks is code, and a lone backtick is a backtick", () => {
  show(<Failure error={new Error("`krios1` needs a path, such as `krios1:/<b>`")} />);
  expect([...document.querySelectorAll("code")].map(({ textContent }) => textContent)).toEqual(["krios1", "krios1:/<b>"]);
  cleanup();
  show(<Failure error={new Error("a ` alone")} />);
  expect(document.querySelector("code")).toBeNull();
  expect(screen.getByRole("alert").textContent).toContain("a ` alone");
});

it("people are called by name, by id when the name is gone, and with the assistant that asked for them", () => {
  expect(who("pn_1", "ada")).toBe("ada");
  expect(who("pn_1", null)).toBe("pn_1");
  expect(who("pn_1", "ada", "claude\u202E")).toBe("ada, through claude\\u{202E}");
});

it("a problem is told with its code; what is no problem document still makes sense", () => {
  const response = new Response(null, { status: 409 });
  show(<Failure error={new ApiError(toProblem({ title: "Conflict", code: "plan_expired", detail: "make it again" }, response))} />);
  expect(screen.getByRole("alert").textContent).toContain("make it again");
  expect(screen.getByRole("alert").textContent).toContain("plan_expired");
  expect(inWords(new ApiError(toProblem("<html>", response))).code).toBe("http_409");
  expect(inWords(new Unreachable()).title).toBe("The service does not answer");
});

it("roles decide what is offered, by scope", () => {
  const me: Me = { id: "pe_1", name: "vera", roles: ["viewer"], scopes: ["transfer:read"], session: true, agent: null, groups: [], factors: ["pwd"], method: "password" };
  expect(whyNot(me, "plan")).toContain("Only requesters");
  expect(whyNot({ ...me, scopes: ["transfer:plan"] }, "plan")).toBeNull();
});

it("a clipboard that is refused is said, so that nobody leaves without what they copied", async () => {
  vi.stubGlobal("navigator", { clipboard: { writeText: () => Promise.reject(new DOMException("no", "NotAllowedError")) } });
  show(<Copyable label="secret" text="hrt_1" />);
  screen.getByRole("button", { name: "Copy: secret" }).click();
  expect((await screen.findByRole("alert")).textContent).toContain("select the text");
  expect(screen.queryByText("Copied")).toBeNull();
  vi.unstubAllGlobals();
});

it("the password is asked for when the service wants a proof, goes with one yes, and is gone after it", async () => {
  const sent = vi.fn<(given: { password?: string }) => void>();
  const needed = new ApiError({ type: "about:blank", title: "", status: 403, code: "proof_needed", detail: "", instance: null, fields: [], proof: { ways: ["password"] } });
  function Yes({ error }: { error: unknown }) {
    const proof = useProof();
    return (
      <>
        {proof.field(error, () => undefined)}
        <button
          onClick={() => {
            sent(proof.take());
            proof.used();
          }}
        >
          Yes
        </button>
      </>
    );
  }
  const { rerender } = show(<Yes error={null} />);
  const again = (error: unknown) => rerender(<MantineProvider env="test"><Yes error={error} /></MantineProvider>);
  expect(screen.queryByLabelText("Your password, for this and nothing else")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Yes" }));
  again(needed);
  await userEvent.type(screen.getByLabelText("Your password, for this and nothing else"), "correct horse");
  again(null);
  await userEvent.click(screen.getByRole("button", { name: "Yes" }));
  await userEvent.click(screen.getByRole("button", { name: "Yes" }));
  expect(sent.mock.calls).toEqual([[{}], [{ password: "correct horse" }], [{}]]);
  expect(screen.queryByLabelText("Your password, for this and nothing else")).toBeNull();
});

it("people of one name are told apart by where they are known", () => {
  const person = (id: string, name: string, ...issuers: string[]): Person => ({
    id, name, roles: [], groups: [], granted_roles: [], granted_groups: [], state: "active", kind: "person", created: "2026-01-01T00:00:00Z",
    identities: issuers.map((issuer) => ({ issuer, subject: id, name, groups: [], seen: "2026-01-01T00:00:00Z", gone: null })),
  });
  const people = [person("1", "Sam"), person("2", "sam", "https://login.example"), person("3", "Eve", "https://login.example")];
  expect(people.map((one) => toldApart(one, people))).toEqual(["Sam (of this service)", "sam (https://login.example)", "Eve"]);
});
