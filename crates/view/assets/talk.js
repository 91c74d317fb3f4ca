// Talking to the server: questions with answers in JSON, and the list of runs whenever it changes.

/** The answer to a question, or an error that says why there is none. */
export async function ask(path, question) {
  const options = question === undefined
    ? {}
    : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question) };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({ error: "The server sent something else than an answer." }));
  if (!response.ok) throw Object.assign(new Error(answer.error ?? response.statusText), { status: response.status });
  return answer;
}

/** Hears the list of runs and models, now and at every change; `linked` hears whether the server is there. */
export function listen(changed, linked) {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => linked(true));
  source.addEventListener("error", () => linked(false));
  source.addEventListener("list", (event) => changed(JSON.parse(event.data)));
}
