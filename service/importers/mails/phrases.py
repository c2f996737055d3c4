"""The words by which mail programs introduce a quote or end a mail, in the languages they speak.

Those of signatures are ``mailparser_reply``'s, a dozen languages; its expressions for quotes take cubic time and are
not used.
"""

from __future__ import annotations

import re
from functools import cache

import mailparser_reply


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# what follows a name and a date above a quote: "wrote", "schrieb", ...
VERBS = _words(
    "wrote writes write said says schrieb schreibt geschrieben écrit ecrit écrivait escribió escribio escribe "
    "escreveu escreve scritto scrive scrisse schreef schrijft geschreven skrev skrevet skriver napisał napisała "
    "napisał(a) napisal napisal(a) napisala napisao napisala napísal napísal(a) napsal napsala napsal(a) píše pisze "
    "nadesłał kirjoitti írta irta yazdı yazdi yazmış scris écrit: έγραψε написал написала написал(а) пишет писал "
    "написав написав(ла) написа пише escrigué escriure idatzi kirjutas rašė rakstīja viết menulis เขียนว่า "
    "quoting zitat citando 写道 写道： 寫道 書きました のメール 작성 작성: كتب כתב نوشت نوشته"
)
SPOKEN = _words("said says")
# verbs of languages that put no space before them
JOINED_VERBS = ("写道", "寫道", "作成", "작성", "작성하였습니다", "쓴 글", "wrote")
# the first word of such a line
OPENERS = _words(
    "on am le el em il op den dne dnia w em a pe în vào στις на в у dana ma pon wt śr czw pt sob ndz po út st čt pá "
    "so ne mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday lun mar mer jeu ven "
    "sam dim mån tis ons tors fre lör sön quoting at 在 於 lunedì пн вт ср чт пт сб вс mo di mi do fr montag در"
)
# small words of names
PARTICLES = _words("van de der den von zu da di du la le del dos bin al of the and")
FIRST_PERSON = _words("i ich ik je j'ai yo eu io jag jeg ja я 我 من")

_FROM = (
    "from|von|de|da|van|från|fra|od|от|від|kimden|gönderen|lähettäjä|feladó|από|de la|发件人|寄件者|寄件人|差出人|"
    "送信者|보낸 사람|보낸사람|מאת|من|expéditeur|remitente|mittente|afzender|absender|dari|từ|afsender|nadawca|saatja|"
    "از|шаље|nuo|no|จาก|प्रेषक|frá|nork"
)
_SENT = (
    "sent|gesendet|envoyé|envoyé le|enviado|enviado el|enviado em|enviada em|enviada|inviato|verzonden|skickat|sendt|"
    "wysłano|odesláno|odoslané|отправлено|надіслано|gönderildi|gönderme tarihi|lähetetty|elküldve|küldve|στάλθηκε|"
    "trimis|发送时间|發送時間|傳送時間|已发送|送信日時|送信|보낸 날짜|נשלח|date|datum|fecha|data|dato|dátum|дата|tarih|"
    "päivämäärä|päiväys|ημερομηνία|日期|日付|日時|날짜|תאריך|trimis la|tanggal|ngày|تم الإرسال|التاريخ|"
    "ارسال شده|تاریخ|изпратено|poslano|послато|išsiųsta|nosūtīts|saadetud|dikirim|enviat|bidalia|ส่ง|भेजा गया"
)
_TO = (
    "to|an|à|a|para|aan|till|til|do|komu|pre|кому|kime|alıcı|vastaanottaja|címzett|προς|către|catre|收件人|收件者|宛先|"
    "받는 사람|받는사람|אל|إلى|destinataire|destinatario|kepada|đến|modtager|dla|до|به|"
    "prima|прима|za|kam|adressaat|per a|nori|ถึง|प्रति"
)
_SUBJECT = (
    "subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat|předmět|predmet|тема|konu|aihe|tárgy|"
    "θέμα|subiect|subiectul|主题|主旨|主題|件名|제목|נושא|الموضوع|subjek|tiêu đề|chủ đề|teema|موضوع|"
    "относно|zadeva|tēma|tema|perihal|gaia|เรื่อง|विषय|efni"
)
_OTHER = (
    "cc|bcc|kopia|kopie|kopi|copie|копия|копія|抄送|副本|참조|cópia|importance|reply-to|organization|attachments|"
    "wichtigkeit|priority|anlagen"
)
# what a line such as "Subject: Tea" in the header of a quoted mail tells
LABELS: dict[str, str] = {
    label: kind
    for kind, labels in (("other", _OTHER), ("to", _TO), ("sent", _SENT), ("subject", _SUBJECT), ("from", _FROM))
    for label in labels.split("|")
}
# between two rules: -----Original Message-----
SEPARATORS = re.compile(
    r"(?:original|forwarded|reply|weitergeleitete|originale?|ursprüngliche|message d'origine|message original|"
    r"message transféré|mensaje|messaggio|mensagem|oorspronkelijk|doorgestuurd|ursprungligt|vidarebefordrat|"
    r"oprindelig|videresendt|opprinnelig|alkuperäinen|välitetty|wiadomość|przekazana|původní|přeposlaná|пересланное|"
    r"пересылаемое|исходное|оригинальное|özgün|yönlendirilen|iletilen|eredeti|továbbított|αρχικό|mesaj|原始|"
    r"转发|轉寄|元のメッセージ|転送|원본|전달).{0,40}",
    re.IGNORECASE,
)
FORWARD_LINES = re.compile(
    r"(?:begin forwarded message|start of forwarded message|anfang der weitergeleiteten (?:nachricht|e-mail)|"
    r"début du message (?:réexpédié|transféré)|inicio del mensaje reenviado|início da mensagem (?:re)?encaminhada|"
    r"inizio (?:del )?messaggio inoltrato|begin doorgestuurd bericht|(?:vidare|videre)befordrat meddelande|"
    r"start på (?:videresendt|vidarebefordrat) .{3,20}|välitetty viesti alkaa|początek przekazywanej wiadomości|"
    r"начало переадресованного сообщения|下面是被转发的邮件|転送されたメッセージ)\s*[:：]?",
    re.IGNORECASE,
)
# "Please type your reply above this line", or not below it: how help desks divide their mails from what answers them
ABOVE = re.compile(
    r"\b(?:above|oberhalb|über|au[- ]dessus|encima|arriba|acima|sopra|boven|ovan|ovenfor|over|yläpuol|powyżej|nad|výše|"
    r"выше|над|вище|üst|yukarı|föl[ée]|felett|deasupra|πάνω|iznad|trên|di atas|per sobre|kohal|vir[sš])"
    r"|より上|の上|上方|以上|之上|위에|위쪽|เหนือ|ด้านบน|מעל|فوق|أعلى|بالای"
    r"|\b(?:not|nicht|pas|no|não|non|niet)\b.{1,40}\b(?:below|unter|dessous|debajo|abaixo|sotto|onder)",
    re.IGNORECASE,
)
LINE = re.compile(
    r"\b(?:line|zeile|linie|ligne|l[ií]nea|linha|riga|regel|lijn|rad(?:en)?\b|linje|rivi|l[iī]ni|řád|riad|строк|лини|черт|рядк|"
    r"satır|çizgi|sor|rând|γραμμή|red\b|ред\b|crt|vrst|línia|rea\b|eilut|dòng|baris|garis)|[行線线줄]|บรรทัด|เส้น|שור|קו|سطر|خط",
    re.IGNORECASE,
)
ANSWER = re.compile(
    r"repl|respon|answer|comment|antwor|schreib|répon|écri|resp[uo]|contest|escrib|escrev|rispo|scriv|antwoord|svar|"
    r"skriv|vasta|odpow|odpov|ответ|відпов|yanıt|cevap|válasz|răspun|απαντ|odgovor|返信|回复|回覆|답장|회신|ตอบ|"
    r"trả lời|balas|השב|תגוב|الرد|\bwrite|\btype",
    re.IGNORECASE,
)
# the way out of a mailing list
LEAVE = re.compile(
    r"unsubscri|opt[- ]out|you (?:received|(?:are|were) (?:receiving|currently subscribed|subscribed|sent)) |abmeld|"
    r"abbestell|austrag|désabonn|désinscri|darse de baja|cancelar .{0,20}(?:suscripción|inscrição)|disiscri|cancellar|"
    r"afmeld|uitschrij|avregistr|avprenum|peruuta|wypis|odhlás|отпис|abonelikten|leiratkoz|dezabon|"
    r"退会|解除|退订|取消订阅|수신거부",
    re.IGNORECASE,
)
# "Sent from my iPhone": such a line names what it was sent with, one of DEVICES
FOOTERS = re.compile(
    r"(?:sent|sendt|envoyé|enviado|enviada|inviato|gesendet|verstuurd|verzonden|skickat|wysłan[eoa]|odesláno|odoslané|"
    r"отправлено|надіслано|изпратено|lähetetty|elküldve|trimis|dikirim|versendet|poslano|στάλθηκε|gửi|ارسال شده)"
    r"\s+(?:(?:from|fra|fra min|de|depuis|à partir|desde|do|da|dal|dalla|von|vanaf|vanuit|van|från|z|ze|с|з|из|от|iz|"
    r"s|sa|din|az|από|từ|از|dari|mit|met|with|via|using|by|through|durch|avec|con|com|med|pomocí|через|on)\b"
    r"|\[?(?:proton|outlook|yahoo|gmail|iphone))"
    r"|ส่งจาก|נשלח מ|أ?ُ?رسلت من"
    r"|diese (?:nachricht|e-mail) wurde (?:von|mit) .{3,60} gesendet\b"
    r"|(?:von|vom) .{3,40} (?:gesendet|versendet|geschickt)\b"
    r"|(?:get|télécharge[rz]|holen sie sich|obtener|obtenga|ottieni|hent|hämta|baixe|download) outlook "
    r"(?:for|pour|für|para|per|voor|för|til)\b"
    r"|outlook für |yahoo mail: |yahoo mail[ -]+stuur|aol mail|mobil gesendet|iphone.{0,20}(?:送信|送信しました|보냄)"
    r"|[\w ’']{0,20}(?:から送信|에서 보냄|gönderildi\b)|发自我的|發自我的|从我的.{1,20}发送"
    r"|從我的.{1,20}傳送|나의 .{1,20}에서 보냄"
    r"|get \w{3,20} for (?:android|ios|iphone|ipad)|[\w-]{3,20}-r[óő]l küldve|lähetetty \w+|iphonemdan|"
    r"typed (?:on|with) my"
    r"|(?:please )?excuse (?:my |the |any )?(?:brevity|typos)(?: (?:and|or|&) \w+)?\W*$",
    re.IGNORECASE,
)
DEVICES = re.compile(
    r"i-?(?:phon|pad|pod)|phone|android|galaxy|samsung|huawei|xiaomi|blackberry|nokia|pixel|windows|outlook|yahoo|gmail|"
    r"aol|hotmail|proton|\btuta|gmx|web\.de|zoho|\bspark\b|superhuman|shortwave|canary|airmail|mailbird|mailspring|"
    r"thunderbird|k-9|fairemail|bluemail|\bhey\b|mobil|handy|tablet|\bdevice|gerät|dispositiv|appareil|telefo|"
    r"téléphone|teléfono|телефон|мобильн|почт|apparaat|unterwegs|\bon the (?:go|road|move)|手机|手機|携帯|آیفون|موبایل|"
    r"brevity|typos",
    re.IGNORECASE,
)
BANNERS = re.compile(
    r"originated (?:from )?outside|from outside (?:of )?(?:the|your|our) (?:organi[sz]ation|company|university)|"
    r"outside of (?:the|your) organi[sz]ation|external (?:e-?mail|sender|message)\b|"
    r"do not (?:click|open) (?:on )?(?:any )?(?:links|attachments)|unless you (?:recogni[sz]e|trust|know) the|"
    r"don['’]t often (?:get|receive) e-?mail from|learn why this is important|"
    r"(?:kommt|stammt|wurde) von (?:außerhalb|einem externen)|externe e-?mail|externer absender|"
    r"sie erhalten nicht (?:oft|häufig) e-?mails? von|provient de l['’](?:extérieur|exterieur)|expéditeur externe|"
    r"vous n['’]obtenez pas souvent d['’]e-mail|correo externo|remitente externo|fuera de (?:la|su|tu) organización|"
    r"mittente esterno|afkomstig van buiten|externe afzender|remetente externo",
    re.IGNORECASE,
)
BANNER_MARK = re.compile(r"\W*(?:ext|extern|external)(?: ?(?:e-?mail|sender|message))?\W*", re.IGNORECASE)
DISCLAIMERS = re.compile(
    r"intended recipient|intended (?:solely|only|exclusively) for|(?:named|intended) addressee|"
    r"confidential(?:ity)? (?:notice|note)|confidential and (?:may|intended|privileged|/or)|legally privileged|"
    r"(?:is|are|be|contains?) (?:\w+ )?confidential|in error,? please|disclosure,? (?:is|copying|distribution)|"
    r"any (?:files|attachments)|transmitted with it|vertrauliche|rechtlich geschützt|"
    r"nicht der (?:richtige|beabsichtigte)|"
    r"irrtümlich erhalten|vernichten sie diese|confidentiel|destinataires? (?:visé|du message|ci-dessus|exclusif)|"
    r"ce message (?:et|est|peut)|si vous avez reçu ce|confidencial|si usted no es el|destinatario|por error|"
    r"riservat[oe]|se avete ricevuto|vertrouwelijk|geadresseerde|konfidentiell|avsedd (?:endast )?för|fortrolig|"
    r"poufn[ey]|wyłącznie dla|adresata|důvěrn|конфиденциальн|предназначен[оа]? (?:только|исключительно)|"
    r"gizli|機密|保密",
    re.IGNORECASE,
)
PAPER = re.compile(
    r"(?:consider|think (?:of|about)) (?:the|our) environment\W{1,3}(?:before|when|and\b|$)|"
    r"think before (?:you )?print|before printing this|denken sie an die umwelt\W{1,3}(?:bevor|vor|und)|"
    r"pensez à l['’]environnement\W{1,3}(?:avant|et\b)|avant d['’]imprimer|virus[- ]free\b\W|"
    r"(?:scanned|checked) (?:for (?:viruses|spam|malware)|by (?:\S+ ){0,3}(?:anti-?virus|mailscanner|avast|avg))|"
    r"auf viren (?:geprüft|überprüft|untersucht)|analyse antivirus|(?:software )?antivirus (?:de |di )?avast",
    re.IGNORECASE,
)


@cache
def sign_offs() -> re.Pattern[str]:
    """Matches the start of a line that opens a signature: "Best regards", "Mit freundlichen Grüßen"."""
    # "david" is a joke of the library's
    languages = (words for name, words in mailparser_reply.constants.MAIL_LANGUAGES.items() if name != "david")
    return re.compile("|".join(phrase for words in languages for phrase in words.get("signatures", ())), re.IGNORECASE)
