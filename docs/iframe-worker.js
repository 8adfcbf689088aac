// Search without a server: browsers refuse workers to pages that are opened from the disk, but not frames. This lets a
// hidden frame do what the worker would.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      window.addEventListener("message", event => {
        if (event.source !== this.inside) return
        event.stopImmediatePropagation()
        const message = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(message)
        if (this.onmessage) this.onmessage(message)
      })
      this.ready = new Promise(resolve => { window.frameIsReady = resolve })
      const page = this.inside.document
      page.open()
      page.write(`<script>
        var postMessage = parent.postMessage.bind(parent)
        var importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise(resolve => {
          const script = document.createElement("script")
          script.src = url
          script.onload = resolve
          document.body.append(script)
        })), Promise.resolve())
      <\/script><body><script src="${url}" onload="parent.frameIsReady()"><\/script>`)
      page.close()
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data, source: parent })))
    }
    terminate() {}
  }
}
