/** The text of an answer; null if it has more than `most` bytes. */
export async function readText(response: Response, most: number): Promise<string | null> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = '';
  for (let received = 0; ;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done) return text + decoder.decode();
    received += value!.length;
    if (received > most) {
      void reader!.cancel().catch(() => undefined);
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}
