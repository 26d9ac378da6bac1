package dev.sluice.log;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.logging.log4j.ThreadContext;
import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.rewrite.RewriteAppender;
import org.apache.logging.log4j.core.appender.rewrite.RewritePolicy;
import org.apache.logging.log4j.core.config.AppenderRef;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;
import org.apache.logging.log4j.util.SortedArrayStringMap;
import org.apache.logging.log4j.util.StringMap;

/**
 * Keeps a driver's secrets out of the messages, exceptions and contexts of its log, in every layout: in front of each appender
 * stands one that hands on events without them.
 */
public final class MaskedLog implements RewritePolicy {

    private static final MaskedLog POLICY = new MaskedLog();
    private static final String PREFIX = "sluice-masked-";

    private record Hidden(Pattern secrets, String inPlace) {
        boolean isIn(String text) {
            return text != null && secrets.matcher(text).find();
        }

        String without(String text) {
            return text == null ? null : secrets.matcher(text).replaceAll(inPlace);
        }
    }

    private static volatile Hidden hidden;

    private MaskedLog() {}

    /** From now on the log has {@code inPlace} where the secrets would be. May be called again, for others. */
    public static void hide(LoggerContext context, String secrets, String inPlace) {
        hidden = new Hidden(Pattern.compile(secrets), inPlace);
        Configuration configuration = context.getConfiguration();
        Set<LoggerConfig> loggers = new HashSet<>(configuration.getLoggers().values());
        loggers.add(configuration.getRootLogger());
        loggers.forEach(logger -> putInFront(logger, configuration));
        context.updateLoggers();
    }

    private static void putInFront(LoggerConfig logger, Configuration configuration) {
        Map<String, AppenderRef> refs = new HashMap<>();
        logger.getAppenderRefs().forEach(ref -> refs.put(ref.getRef(), ref));
        for (Appender appender : List.copyOf(logger.getAppenders().values())) {
            String name = appender.getName();
            if (name.startsWith(PREFIX)) {
                continue;
            }
            Appender masking = maskingFor(appender, configuration);
            AppenderRef ref = refs.get(name);
            logger.removeAppender(name);
            logger.addAppender(masking, ref == null ? null : ref.getLevel(), ref == null ? null : ref.getFilter());
        }
    }

    /** Loggers that share an appender share the one in front of it. */
    private static Appender maskingFor(Appender appender, Configuration configuration) {
        Appender made = configuration.getAppender(PREFIX + appender.getName());
        if (made != null) {
            return made;
        }
        if (configuration.getAppender(appender.getName()) == null) { // a program has added it to a logger alone
            configuration.addAppender(appender);
        }
        AppenderRef[] handsOnTo = {AppenderRef.createAppenderRef(appender.getName(), null, null)};
        made = RewriteAppender.createAppender(PREFIX + appender.getName(), null, handsOnTo, configuration, POLICY, null);
        made.start();
        configuration.addAppender(made);
        return made;
    }

    @Override
    public LogEvent rewrite(LogEvent event) {
        Hidden now = hidden;
        String message = event.getMessage().getFormattedMessage();
        String thrown = event.getThrown() == null ? "" : stackOf(event.getThrown());
        Map<String, String> context = event.getContextData().toMap();
        boolean isClean = !now.isIn(message) && !now.isIn(thrown) && !now.isIn(event.getThreadName())
                && context.values().stream().noneMatch(now::isIn)
                && event.getContextStack().asList().stream().noneMatch(now::isIn);
        if (isClean) {
            return event;
        }
        StringMap rest = new SortedArrayStringMap();
        context.forEach((key, value) -> rest.putValue(key, now.without(value)));
        String stack = thrown.isEmpty() ? "" : "\n" + thrown.stripTrailing();
        return new Log4jLogEvent.Builder(event)
                .setMessage(new SimpleMessage(now.without(message + stack)))
                .setThrown(null)
                .setThrownProxy(null)
                .setContextData(rest)
                .setContextStack(ThreadContext.EMPTY_STACK)
                .setThreadName(now.without(event.getThreadName()))
                .build();
    }

    private static String stackOf(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }
}
