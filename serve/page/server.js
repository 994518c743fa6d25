// What the page asks of the server that it is from. The token is kept for this origin alone, and out of the address.
const KEPT = "parc-token";

const given = new URLSearchParams(location.search).get("token");
if (given) {
  localStorage.setItem(KEPT, given);
  history.replaceState(null, "", location.pathname + location.hash);
}

function headers() {
  return { "X-Parc-Token": localStorage.getItem(KEPT) ?? "" };
}

async function answered(response) {
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Error(said.error ?? `the server answered ${response.status}`);
}

export async function opened() {
  return (await answered(await fetch("/api/opened", { headers: headers() }))).json();
}

/** The answer to one kind of question: an object, or a blob where it is a file. */
export async function ask(kind, fields, signal) {
  const response = await answered(await fetch(`/api/${kind}`, {
    method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(fields), signal,
  }));
  return response.headers.get("content-type") === "application/json" ? response.json() : response.blob();
}

/** Asks one kind of question at a time: a newer one gives up the older one, whose answer is null. */
export function newest(kind) {
  let running = null;
  return async (fields) => {
    running?.abort();
    const mine = (running = new AbortController());
    try {
      const answer = await ask(kind, fields, mine.signal);
      return mine.signal.aborted ? null : answer;
    } catch (error) {
      if (mine.signal.aborted) return null;
      throw error;
    }
  };
}
